/* A completions server whose token times are known, to hold clients against.
 *
 *   truth_server [--port N] [--ttft-ms X] [--itl-ms X] [--tokens N] [--tokens-per-write N]
 *
 * Prints "listening PORT" (a free port by default) and runs until it is killed. One thread, one epoll set.
 *
 * POST .../v1/completions and .../v1/chat/completions stream max_tokens tokens (max_completion_tokens counts too, else
 * --tokens): the first is due TTFT after the request was read whole, each next one ITL after the one before was due, so
 * lateness does not add up. --tokens-per-write puts several events into one write. "stream":false answers in one body
 * when the last token would have been due. GET /v1/models, /health answer at once.
 *
 * GET /truth says what this server itself did, in seconds: time from reading a request to writing its first token, and
 * from token to token, each with count, mean, p50, p99 and max. GET /truth/reset forgets it. A client is judged against
 * these, so that a machine too busy to write in time is not held against it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FD = 65536, SAMPLES = 1 << 22, EVENT_BYTES = 512, BATCH = 512 };

typedef uint64_t ns_t;

typedef struct {
    char *in;             /* unread request bytes, zero-terminated */
    size_t used, room;
    int busy, chat, stream, usage;
    long tokens, sent;
    ns_t read_at, wrote_at; /* of the request, of its last token */
    uint64_t number;        /* of the request: a timer of an older one is void */
} Conn;

typedef struct { ns_t due; int fd; uint64_t number; } Timer;

typedef struct { const char *name; float *seconds; size_t count; } Series;

static Conn *conns[MAX_FD];
static Timer *timers;
static size_t timer_count, timer_room;
static ns_t ttft, itl;
static long default_tokens = 128, tokens_per_write = 1;
static uint64_t requests;
static int epoll_fd;
static Series first_token = {"ttft_s", NULL, 0}, between = {"itl_s", NULL, 0};

static ns_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ns_t)t.tv_sec * 1000000000ull + (ns_t)t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* --- timers: a binary heap by due time --- */

static void timer_add(ns_t due, int fd, uint64_t number)
{
    if (timer_count == timer_room) {
        timer_room = timer_room ? 2 * timer_room : 4096;
        timers = realloc(timers, timer_room * sizeof *timers);
        if (!timers) die("realloc");
    }
    size_t at = timer_count++;
    while (at > 0 && timers[(at - 1) / 2].due > due) {
        timers[at] = timers[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    timers[at] = (Timer){due, fd, number};
}

static Timer timer_take(void)
{
    Timer top = timers[0], last = timers[--timer_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < timer_count) {
        if (child + 1 < timer_count && timers[child + 1].due < timers[child].due) child++;
        if (timers[child].due >= last.due) break;
        timers[at] = timers[child];
        at = child;
    }
    if (timer_count) timers[at] = last;
    return top;
}

/* --- connections --- */

static void conn_close(int fd)
{
    free(conns[fd]->in);
    free(conns[fd]);
    conns[fd] = NULL;
    close(fd);
}

static int conn_write(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EAGAIN) { /* the client reads too slowly: wait for it */
            struct pollfd p = {fd, POLLOUT, 0};
            poll(&p, 1, 1000);
            continue;
        }
        if (n < 0) {
            conn_close(fd);
            return -1;
        }
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

static int reply(int fd, const char *type, const char *body)
{
    static char out[8192];
    int n = snprintf(out, sizeof out, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", type,
                     strlen(body), body);
    return conn_write(fd, out, (size_t)n);
}

/* --- what this server did --- */

static void note(Series *series, ns_t from, ns_t to)
{
    if (!series->seconds && !(series->seconds = malloc(SAMPLES * sizeof(float)))) die("malloc");
    series->seconds[series->count++ % SAMPLES] = (float)((double)(to - from) / 1e9);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int series_json(char *out, size_t room, Series *series)
{
    size_t n = series->count < SAMPLES ? series->count : SAMPLES;
    if (!n) return snprintf(out, room, "\"%s\":null", series->name);
    double sum = 0;
    qsort(series->seconds, n, sizeof(float), by_value);
    for (size_t i = 0; i < n; i++) sum += series->seconds[i];
    return snprintf(out, room, "\"%s\":{\"count\":%zu,\"mean\":%.6f,\"p50\":%.6f,\"p99\":%.6f,\"max\":%.6f}",
                    series->name, series->count, sum / (double)n, series->seconds[n / 2], series->seconds[n * 99 / 100],
                    series->seconds[n - 1]);
}

static int truth(int fd)
{
    char body[1024];
    int n = snprintf(body, sizeof body, "{\"requests\":%llu,", (unsigned long long)requests);
    n += series_json(body + n, sizeof body - (size_t)n, &first_token);
    n += snprintf(body + n, sizeof body - (size_t)n, ",");
    n += series_json(body + n, sizeof body - (size_t)n, &between);
    snprintf(body + n, sizeof body - (size_t)n, "}\n");
    return reply(fd, "application/json", body);
}

/* --- answers --- */

static const char *const words[] = {" ship", " the", " tide", " over", " sea", " of", " harbour", " and",
                                    " light", " was", " north", " in", " rope", " slow", " bell", " a"};

static int event(char *out, size_t room, const Conn *c)
{
    const char *word = words[(c->number * 5 + (uint64_t)c->sent * 11) & 15];
    const char *finish = c->sent + 1 == c->tokens ? "\"length\"" : "null";
    const char *object = c->chat ? "chat.completion.chunk" : "text_completion";
    int n = snprintf(out, room, "data: {\"id\":\"cmpl-%llu\",\"object\":\"%s\",\"created\":1700000000,\"model\":\"truth\","
                     "\"choices\":[{\"index\":0,", (unsigned long long)c->number, object);
    n += snprintf(out + n, room - (size_t)n, c->chat ? "\"delta\":{\"content\":\"%s\"}" : "\"text\":\"%s\"", word);
    n += snprintf(out + n, room - (size_t)n, ",\"logprobs\":null,\"finish_reason\":%s}]}\n\n", finish);
    return n;
}

static size_t chunk(char *out, const char *data, int size)
{
    int n = sprintf(out, "%x\r\n", (unsigned)size);
    memcpy(out + n, data, (size_t)size);
    memcpy(out + n + size, "\r\n", 2);
    return (size_t)(n + size + 2);
}

/* Writes the tokens that are due; -1 if the connection is gone, 1 if the answer is over. */
static int stream_step(int fd, Conn *c)
{
    static char out[1 << 20];
    char data[EVENT_BYTES];
    size_t n = 0;
    if (c->sent == 0)
        n = (size_t)sprintf(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    long upto = c->sent + tokens_per_write < c->tokens ? c->sent + tokens_per_write : c->tokens;
    int first = c->sent == 0;
    ns_t at = now();
    if (first) note(&first_token, c->read_at, at);
    else note(&between, c->wrote_at, at);
    for (c->wrote_at = at; c->sent < upto; c->sent++) n += chunk(out + n, data, event(data, sizeof data, c));
    int over = c->sent == c->tokens;
    if (over) {
        if (c->usage)
            n += chunk(out + n, data,
                       snprintf(data, sizeof data, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":16,"
                                "\"completion_tokens\":%ld,\"total_tokens\":%ld}}\n\n", c->tokens, c->tokens + 16));
        n += (size_t)sprintf(out + n, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    }
    return conn_write(fd, out, n) ? -1 : over;
}

static int whole_answer(int fd, const Conn *c)
{
    char body[EVENT_BYTES];
    snprintf(body, sizeof body, "{\"object\":\"%s\",\"model\":\"truth\",\"choices\":[{\"index\":0,%s,\"finish_reason\":"
             "\"length\"}],\"usage\":{\"prompt_tokens\":16,\"completion_tokens\":%ld,\"total_tokens\":%ld}}",
             c->chat ? "chat.completion" : "text_completion",
             c->chat ? "\"message\":{\"role\":\"assistant\",\"content\":\"a ship\"}" : "\"text\":\"a ship\"", c->tokens,
             c->tokens + 16);
    return reply(fd, "application/json", body);
}

/* --- requests --- */

static long number_of(const char *json, const char *key, long otherwise)
{
    const char *at = strstr(json, key);
    if (!at) return otherwise;
    at += strlen(key);
    at += strspn(at, "\": ");
    return *at >= '0' && *at <= '9' ? atol(at) : otherwise;
}

static int is_true(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    if (!at) return 0;
    at += strlen(key);
    return !strncmp(at + strspn(at, "\": "), "true", 4);
}

static void generate(int fd, Conn *c, const char *path, const char *json)
{
    c->chat = strstr(path, "/chat/") != NULL;
    c->stream = is_true(json, "\"stream\"");
    c->usage = is_true(json, "\"include_usage\"");
    c->tokens = number_of(json, "\"max_completion_tokens\"", number_of(json, "\"max_tokens\"", default_tokens));
    if (c->tokens < 1) c->tokens = 1;
    c->sent = 0;
    c->busy = 1;
    c->number = ++requests;
    c->read_at = now();
    timer_add(c->read_at + ttft + (c->stream ? 0 : (ns_t)(c->tokens - 1) * itl), fd, c->number);
}

static void answer(int fd, Conn *c, char *head, const char *body)
{
    char *path = strchr(head, ' ');
    path = path ? path + 1 : head;
    path[strcspn(path, " \r")] = 0;
    if (!strncmp(head, "POST", 4) && strstr(path, "/completions")) generate(fd, c, path, body);
    else if (strstr(path, "/v1/models"))
        reply(fd, "application/json", "{\"object\":\"list\",\"data\":[{\"id\":\"truth\",\"object\":\"model\","
              "\"created\":1700000000,\"owned_by\":\"truth\",\"root\":\"truth\",\"max_model_len\":131072}]}");
    else if (strstr(path, "/truth/reset")) {
        first_token.count = between.count = requests = 0;
        reply(fd, "text/plain", "ok\n");
    } else if (strstr(path, "/truth")) truth(fd);
    else reply(fd, "text/plain", "ok\n");
}

/* Answers the whole requests in the buffer, one at a time. */
static void consume(int fd, Conn *c)
{
    while (conns[fd] == c && !c->busy && c->used) {
        char *end = memmem(c->in, c->used, "\r\n\r\n", 4);
        if (!end) return;
        *end = 0;
        const char *length = strcasestr(c->in, "\r\ncontent-length:");
        size_t head = (size_t)(end - c->in) + 4, body = length ? strtoul(length + 17, NULL, 10) : 0;
        int waits = strcasestr(c->in, "\r\nexpect: 100-continue") != NULL;
        *end = '\r';
        if (c->used < head + body) {
            if (waits && c->used == head) conn_write(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
            return;
        }
        char saved = c->in[head + body];
        c->in[head + body] = 0;
        answer(fd, c, c->in, c->in + head);
        if (conns[fd] != c) return;
        c->in[head + body] = saved;
        c->used -= head + body;
        memmove(c->in, c->in + head + body, c->used);
    }
}

static void readable(int fd)
{
    Conn *c = conns[fd];
    if (c->room - c->used < 4096) {
        c->room = c->room ? 2 * c->room : 8192;
        c->in = realloc(c->in, c->room);
        if (!c->in) die("realloc");
    }
    ssize_t n = read(fd, c->in + c->used, c->room - c->used - 1);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
        conn_close(fd);
        return;
    }
    c->used += (size_t)n;
    consume(fd, c);
}

static void accept_all(int listener)
{
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MAX_FD) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        conns[fd] = calloc(1, sizeof(Conn));
        struct epoll_event watch = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &watch);
    }
}

static void fire_due(void)
{
    ns_t at = now();
    for (int fired = 0; timer_count && timers[0].due <= at && fired < 4096; fired++) {
        Timer timer = timer_take();
        Conn *c = conns[timer.fd];
        if (!c || !c->busy || c->number != timer.number) continue;
        int over = c->stream ? stream_step(timer.fd, c) : (whole_answer(timer.fd, c) ? -1 : 1);
        if (over == 0) timer_add(timer.due + itl * (ns_t)tokens_per_write, timer.fd, timer.number);
        if (over == 1) {
            c->busy = 0;
            consume(timer.fd, c);
        }
    }
}

static int listen_on(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 8192) || getsockname(fd, (struct sockaddr *)&at, &size))
        die("listen");
    printf("listening %d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv)
{
    int port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--port")) port = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--ttft-ms")) ttft = (ns_t)(atof(argv[i + 1]) * 1e6);
        else if (!strcmp(argv[i], "--itl-ms")) itl = (ns_t)(atof(argv[i + 1]) * 1e6);
        else if (!strcmp(argv[i], "--tokens")) default_tokens = atol(argv[i + 1]);
        else if (!strcmp(argv[i], "--tokens-per-write")) tokens_per_write = atol(argv[i + 1]);
        else return fprintf(stderr, "truth_server: unknown option %s\n", argv[i]), 2;
    }
    if (tokens_per_write < 1 || tokens_per_write > 1024) return fprintf(stderr, "--tokens-per-write: 1 to 1024\n"), 2;
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int listener = listen_on(port);
    epoll_fd = epoll_create1(0);
    struct epoll_event watch = {.events = EPOLLIN, .data.fd = listener}, ready[BATCH];
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &watch);
    for (;;) {
        int wait_ms = -1;
        if (timer_count) { /* the last fraction of a millisecond is spent asking again */
            ns_t at = now();
            wait_ms = timers[0].due <= at ? 0 : (int)((timers[0].due - at) / 1000000);
        }
        int n = epoll_wait(epoll_fd, ready, BATCH, wait_ms);
        for (int i = 0; i < n; i++) {
            if (ready[i].data.fd == listener) accept_all(listener);
            else if (conns[ready[i].data.fd]) readable(ready[i].data.fd);
        }
        fire_due();
    }
}
