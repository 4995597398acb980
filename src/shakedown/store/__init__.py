"""What happened, for ever: the campaign's SQLite database, its lock, and resume."""

from shakedown.store.campaign_store import CAMPAIGN_FILE_NAME, CampaignStore
from shakedown.store.lock import FolderLock
from shakedown.store.reader import CampaignHeader, CampaignReader

__all__ = ["CAMPAIGN_FILE_NAME", "CampaignHeader", "CampaignReader", "CampaignStore", "FolderLock"]
