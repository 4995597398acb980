"""``shakedown mcp``: a server for coding agents, on standard input and output."""

from __future__ import annotations


def command() -> None:
    """Serve coding agents over the Model Context Protocol, on standard input and output.

    Tools: inspect, plan, start_run, run_progress, stop_run, diagnose, report, compare, export.
    Needs the extra: pip install 'llm-shakedown[mcp]'.

    Example: claude mcp add shakedown -- shakedown mcp
    """
    from shakedown.domain.errors import UserError

    try:
        import mcp as _sdk  # noqa: F401 - asked for here, so that its absence is one clear error
    except ImportError as error:
        raise UserError("the MCP SDK is not installed: pip install 'llm-shakedown[mcp]'") from error
    from shakedown.cli.mcp_server import build_server

    build_server().run("stdio")
