// Runs an ngtcp2 client and server over loopback and writes what each stream had, as
// aioquic_capture.py does.
//
//     ngtcp2 CASE PORT KEYLOG TRUTH
//     ngtcp2 CASE                    says whether there is that case
//
// cert.pem and key.pem are in the folder CERTIFICATES.
#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STREAMS 32
#define BYTES_MAX 4000
#define NEED(what) need((what), #what, __LINE__)

#if NGTCP2_VERSION_NUM < 0x010000
#define ngtcp2_ccerr ngtcp2_connection_close_error
#define ngtcp2_ccerr_default ngtcp2_connection_close_error_default
#define available_versions other_versions
#define available_versionslen other_versionslen
#define token_at token.base
#define tokenlen token.len
#else
#define token_at token
#endif

struct kind {
    const char *name, *priority;
    uint32_t version, preferred; // The client's first, and another that is agreed on.
    int retry, updates, moves, reset;
};

static const struct kind kinds[] = {
    {"plain", "+AES-128-GCM", NGTCP2_PROTO_VER_V1},
    {"aes256", "+AES-256-GCM", NGTCP2_PROTO_VER_V1},
    {"ccm", "+AES-128-CCM", NGTCP2_PROTO_VER_V1},
#ifdef NGTCP2_PROTO_VER_V2
    {"v2", "+CHACHA20-POLY1305", NGTCP2_PROTO_VER_V2},
    {"v1-to-v2", "+AES-128-GCM", NGTCP2_PROTO_VER_V1, NGTCP2_PROTO_VER_V2},
#else
    // As in Debian 12: the number of the draft is another, and nobody opens it.
    {"draft", "+AES-128-GCM", NGTCP2_PROTO_VER_V2_DRAFT},
#endif
    {"retry", "+AES-128-GCM", NGTCP2_PROTO_VER_V1, .retry = 1},
    {"key-updates", "+AES-128-GCM", NGTCP2_PROTO_VER_V1, .updates = 3},
    {"migration", "+AES-128-GCM", NGTCP2_PROTO_VER_V1, .moves = 1},
    {"reset", "+AES-128-GCM", NGTCP2_PROTO_VER_V1, .reset = 1},
};

// A stream as this end sends it, and as it receives it.
struct stream {
    int64_t id;
    uint8_t out[BYTES_MAX], in[BYTES_MAX];
    size_t out_bytes, sent, in_bytes;
    int is_sent, is_whole;
};

struct end {
    ngtcp2_conn *conn;
    gnutls_session_t tls;
    ngtcp2_crypto_conn_ref ref;
    const char *from; // Who sends what it receives.
    struct stream streams[STREAMS];
    int count, socket, is_confirmed, is_reset;
};

static struct end client = {.from = "server"}, server = {.from = "client"};
static struct sockaddr_in server_at, client_at;
static const struct kind *kind;
static gnutls_certificate_credentials_t own, any;
static FILE *keylog;
static const uint8_t secret[32] = "of reset and retry tokens";

static int64_t need(int64_t value, const char *what, int line) {
    if (value < 0) {
        fprintf(stderr, "line %d: %s: %s\n", line, what, ngtcp2_strerror((int)value));
        exit(1);
    }
    return value;
}

static ngtcp2_tstamp now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (ngtcp2_tstamp)time.tv_sec * NGTCP2_SECONDS + (ngtcp2_tstamp)time.tv_nsec;
}

static void fill(uint8_t *to, size_t bytes, const ngtcp2_rand_ctx *unused) {
    (void)unused;
    gnutls_rnd(GNUTLS_RND_NONCE, to, bytes);
}

static ngtcp2_cid new_id(void) {
    ngtcp2_cid id = {.datalen = 12};
    fill(id.data, id.datalen, NULL);
    return id;
}

static struct stream *stream_of(struct end *end, int64_t id) {
    for (int at = 0; at < end->count; at++)
        if (end->streams[at].id == id)
            return &end->streams[at];
    if (end->count == STREAMS)
        exit(1);
    struct stream *own = &end->streams[end->count++];
    own->id = id;
    return own;
}

static void send_on(struct end *end, int64_t id) {
    struct stream *own = stream_of(end, id);
    uint16_t random;
    fill((uint8_t *)&random, sizeof random, NULL);
    own->out_bytes = 1 + random % 1500;
    fill(own->out, own->out_bytes, NULL);
}

static int received(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset,
                    const uint8_t *data, size_t bytes, void *user, void *unused) {
    (void)unused;
    struct end *end = user;
    struct stream *own = stream_of(end, id);
    if (offset != own->in_bytes || own->in_bytes + bytes > BYTES_MAX)
        return NGTCP2_ERR_CALLBACK_FAILURE;
    memcpy(own->in + offset, data, bytes);
    own->in_bytes += bytes;
    own->is_whole |= !!(flags & NGTCP2_STREAM_DATA_FLAG_FIN);
    if (own->is_whole && end == &server && ngtcp2_is_bidi_stream(id))
        send_on(end, id);
    ngtcp2_conn_extend_max_stream_offset(conn, id, bytes);
    ngtcp2_conn_extend_max_offset(conn, bytes);
    return 0;
}

static int give_id(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t bytes, void *user) {
    (void)conn, (void)user;
    id->datalen = bytes;
    fill(id->data, bytes, NULL);
    return ngtcp2_crypto_generate_stateless_reset_token(token, secret, sizeof secret, id);
}

static int confirmed(ngtcp2_conn *conn, void *user) {
    (void)conn;
    ((struct end *)user)->is_confirmed = 1;
    return 0;
}

static int reset(ngtcp2_conn *conn, const ngtcp2_pkt_stateless_reset *packet, void *user) {
    (void)conn, (void)packet;
    ((struct end *)user)->is_reset = 1;
    return 0;
}

static ngtcp2_conn *conn_of(ngtcp2_crypto_conn_ref *ref) { return ((struct end *)ref->user_data)->conn; }

static int log_key(gnutls_session_t tls, const char *label, const gnutls_datum_t *key) {
    gnutls_datum_t random;
    gnutls_session_get_random(tls, &random, NULL);
    fprintf(keylog, "%s ", label);
    for (unsigned at = 0; at < random.size; at++)
        fprintf(keylog, "%02x", random.data[at]);
    fputc(' ', keylog);
    for (unsigned at = 0; at < key->size; at++)
        fprintf(keylog, "%02x", key->data[at]);
    fputc('\n', keylog);
    return 0;
}

static void start_tls(struct end *end, int is_server) {
    char priority[200];
    snprintf(priority, sizeof priority,
             "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:%s:-GROUP-ALL:+GROUP-X25519:"
             "%%DISABLE_TLS13_COMPAT_MODE", kind->priority);
    gnutls_init(&end->tls, (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_ENABLE_EARLY_DATA |
                GNUTLS_NO_END_OF_EARLY_DATA);
    NEED(gnutls_priority_set_direct(end->tls, priority, NULL));
    NEED(is_server ? ngtcp2_crypto_gnutls_configure_server_session(end->tls)
                   : ngtcp2_crypto_gnutls_configure_client_session(end->tls));
    end->ref = (ngtcp2_crypto_conn_ref){conn_of, end};
    gnutls_session_set_ptr(end->tls, &end->ref);
    gnutls_credentials_set(end->tls, GNUTLS_CRD_CERTIFICATE, is_server ? own : any);
    gnutls_datum_t name = {(unsigned char *)"hq-interop", 10};
    gnutls_alpn_set_protocols(end->tls, &name, 1, GNUTLS_ALPN_MANDATORY);
    if (!is_server)
        gnutls_session_set_keylog_function(end->tls, log_key);
    ngtcp2_conn_set_tls_native_handle(end->conn, end->tls);
}

static ngtcp2_path path(struct sockaddr_in *from, struct sockaddr_in *to) {
    return (ngtcp2_path){{(struct sockaddr *)from, sizeof *from}, {(struct sockaddr *)to, sizeof *to}, NULL};
}

// The client's end, or the server's where the header of a first packet is given.
static void start(struct end *end, const ngtcp2_pkt_hd *first, const ngtcp2_cid *original) {
    ngtcp2_callbacks calls = {
        .client_initial = ngtcp2_crypto_client_initial_cb,
        .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
        .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
        .encrypt = ngtcp2_crypto_encrypt_cb,
        .decrypt = ngtcp2_crypto_decrypt_cb,
        .hp_mask = ngtcp2_crypto_hp_mask_cb,
        .recv_stream_data = received,
        .recv_stateless_reset = reset,
        .recv_retry = ngtcp2_crypto_recv_retry_cb,
        .rand = fill,
        .get_new_connection_id = give_id,
        .update_key = ngtcp2_crypto_update_key_cb,
        .handshake_confirmed = confirmed,
        .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
        .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
        .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
        .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
    };
    ngtcp2_settings settings;
    ngtcp2_settings_default(&settings);
    settings.initial_ts = now();
    settings.no_pmtud = 1;
    uint32_t versions[] = {kind->preferred ? kind->preferred : kind->version, kind->version};
    settings.preferred_versions = settings.available_versions = versions;
    settings.preferred_versionslen = settings.available_versionslen = kind->preferred ? 2 : 1;
    ngtcp2_transport_params params;
    ngtcp2_transport_params_default(&params);
    params.initial_max_stream_data_bidi_local = params.initial_max_stream_data_bidi_remote = 1 << 16;
    params.initial_max_stream_data_uni = 1 << 16;
    params.initial_max_data = 1 << 20;
    params.initial_max_streams_bidi = params.initial_max_streams_uni = STREAMS;
    params.active_connection_id_limit = 4;
    params.max_idle_timeout = 10 * NGTCP2_SECONDS;
    params.grease_quic_bit = 1;
    ngtcp2_cid id = new_id(), to = new_id();
    if (first) {
        ngtcp2_path here = path(&server_at, &client_at);
        params.original_dcid = original ? *original : first->dcid;
#ifdef NGTCP2_PROTO_VER_V2
        params.original_dcid_present = 1;
#endif
        if (original) {
            params.retry_scid = first->dcid;
            params.retry_scid_present = 1;
            settings.token_at = first->token_at;
            settings.tokenlen = first->tokenlen;
        }
        params.stateless_reset_token_present = 1;
        ngtcp2_crypto_generate_stateless_reset_token(params.stateless_reset_token, secret,
                                                     sizeof secret, &id);
        NEED(ngtcp2_conn_server_new(&end->conn, &first->scid, &id, &here, first->version, &calls,
                                    &settings, &params, NULL, end));
    } else {
        ngtcp2_path here = path(&client_at, &server_at);
        NEED(ngtcp2_conn_client_new(&end->conn, &to, &id, &here, kind->version, &calls, &settings,
                                    &params, NULL, end));
    }
    start_tls(end, !!first);
}

static int open_socket(struct sockaddr_in *at) {
    socklen_t bytes = sizeof *at;
    int made = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (bind(made, (struct sockaddr *)at, bytes) || getsockname(made, (struct sockaddr *)at, &bytes))
        exit(1);
    return made;
}

static void put(int socket, const uint8_t *data, int64_t bytes, struct sockaddr_in *to) {
    sendto(socket, data, (size_t)bytes, 0, (struct sockaddr *)to, sizeof *to);
}

static void push(struct end *end) {
    uint8_t room[1252];
    ngtcp2_path_storage where;
    ngtcp2_path_storage_zero(&where);
    for (int at = 0; end->conn && at <= end->count;) {
        struct stream *own = at < end->count ? &end->streams[at] : NULL;
        int has = own && own->out_bytes && !own->is_sent;
        if (own && !has) {
            at++;
            continue;
        }
        ngtcp2_vec data = {has ? own->out + own->sent : NULL, has ? own->out_bytes - own->sent : 0};
        ngtcp2_ssize taken = -1;
        int64_t bytes = ngtcp2_conn_writev_stream(end->conn, &where.path, NULL, room, sizeof room,
            &taken, has ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0, has ? own->id : -1, &data, has, now());
        if (bytes == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
            at++;
            continue;
        }
        NEED(bytes);
        if (has && taken >= 0) {
            own->sent += (size_t)taken;
            own->is_sent = own->sent == own->out_bytes;
        }
        if (bytes > 0)
            put(end->socket, room, bytes, (struct sockaddr_in *)where.path.remote.addr);
        else
            at++;
    }
    if (end->conn)
        ngtcp2_conn_update_pkt_tx_time(end->conn, now());
}

// The server's answer to a packet of nobody: an end, a Retry packet or a stateless reset.
static void answer(const uint8_t *packet, size_t bytes) {
    uint8_t room[1252], token[NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN];
    ngtcp2_pkt_hd first;
    if (ngtcp2_accept(&first, packet, bytes)) {
        if (packet[0] & 0x80)
            return;
        ngtcp2_cid id;
        ngtcp2_cid_init(&id, packet + 1, 12);
        ngtcp2_crypto_generate_stateless_reset_token(token, secret, sizeof secret, &id);
        uint8_t random[24];
        fill(random, sizeof random, NULL);
        put(server.socket, room, NEED(ngtcp2_pkt_write_stateless_reset(room, sizeof room, token,
            random, sizeof random)), &client_at);
        return;
    }
    ngtcp2_cid original, id = new_id();
    if (kind->retry && !first.tokenlen) {
        int64_t made = NEED(ngtcp2_crypto_generate_retry_token(token, secret, sizeof secret,
            first.version, (struct sockaddr *)&client_at, sizeof client_at, &id, &first.dcid, now()));
        put(server.socket, room, NEED(ngtcp2_crypto_write_retry(room, sizeof room, first.version,
            &first.scid, &id, &first.dcid, token, (size_t)made)), &client_at);
        return;
    }
    if (kind->retry)
        NEED(ngtcp2_crypto_verify_retry_token(&original, first.token_at, first.tokenlen, secret,
            sizeof secret, first.version, (struct sockaddr *)&client_at, sizeof client_at,
            &first.dcid, 10 * NGTCP2_SECONDS, now()));
    start(&server, &first, kind->retry ? &original : NULL);
}

static void pull(struct end *end, struct sockaddr_in *here) {
    uint8_t packet[2048];
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    ssize_t bytes;
    while ((bytes = recvfrom(end->socket, packet, sizeof packet, 0, (struct sockaddr *)&from, &length)) > 0) {
        ngtcp2_path where = path(here, &from);
        if (end == &server && !end->conn)
            answer(packet, (size_t)bytes);
        if (!end->conn)
            continue;
        int status = ngtcp2_conn_read_pkt(end->conn, &where, NULL, packet, (size_t)bytes, now());
        if (status != NGTCP2_ERR_DRAINING)
            NEED(status);
    }
    if (end->conn && ngtcp2_conn_get_expiry(end->conn) <= now())
        NEED(ngtcp2_conn_handle_expiry(end->conn, now()));
}

// Until the client's streams have been answered, or it was reset.
static void run(void) {
    for (ngtcp2_tstamp end = now() + 20 * NGTCP2_SECONDS;;) {
        int left = !client.is_confirmed;
        push(&client);
        pull(&server, &server_at);
        push(&server);
        pull(&client, &client_at);
        for (int at = 0; at < client.count; at++)
            left += ngtcp2_is_bidi_stream(client.streams[at].id) ? !client.streams[at].is_whole
                : !stream_of(&server, client.streams[at].id)->is_whole;
        if (client.is_reset || !left)
            return;
        if (now() > end)
            exit(1);
        poll(NULL, 0, 1);
    }
}

static void ask(int count) {
    for (int64_t id; count--; send_on(&client, id))
        NEED(count ? ngtcp2_conn_open_bidi_stream(client.conn, &id, NULL)
                   : ngtcp2_conn_open_uni_stream(client.conn, &id, NULL));
}

static void write_truth(FILE *to, const char *id) {
    const char *between = "[";
    for (struct end *end = &client; end; end = end == &client ? &server : NULL)
        for (int at = 0; at < end->count; at++) {
            struct stream *own = &end->streams[at];
            uint8_t digest[32];
            if (!own->in_bytes)
                continue;
            gnutls_hash_fast(GNUTLS_DIG_SHA256, own->in, own->in_bytes, digest);
            fprintf(to, "%s\n {\n  \"connection\": \"%s\",\n  \"id\": %lld,\n  \"from\": \"%s\",\n"
                    "  \"bytes\": %zu,\n  \"sha256\": \"", between, id, (long long)own->id, end->from,
                    own->in_bytes);
            for (int byte = 0; byte < 32; byte++)
                fprintf(to, "%02x", digest[byte]);
            fprintf(to, "\",\n  \"is_whole\": %s\n }", own->is_whole ? "true" : "false");
            between = ",";
        }
    fputs("\n]", to);
}

int main(int count, char **words) {
    char cert[4096], key[4096], id[41] = "";
    for (size_t at = 0; count > 1 && at < sizeof kinds / sizeof *kinds; at++)
        if (!strcmp(kinds[at].name, words[1]))
            kind = &kinds[at];
    if (kind && count == 2)
        return 0;
    if (!kind || count != 5 || !getenv("CERTIFICATES"))
        return fputs("usage: CERTIFICATES=FOLDER ngtcp2 CASE PORT KEYLOG TRUTH\n", stderr), 2;
    FILE *truth = fopen(words[4], "w");
    keylog = fopen(words[3], "w");
    gnutls_certificate_allocate_credentials(&own);
    gnutls_certificate_allocate_credentials(&any);
    snprintf(cert, sizeof cert, "%s/cert.pem", getenv("CERTIFICATES"));
    snprintf(key, sizeof key, "%s/key.pem", getenv("CERTIFICATES"));
    if (gnutls_certificate_set_x509_key_file(own, cert, key, GNUTLS_X509_FMT_PEM) || !truth || !keylog)
        return 1;
    server_at = client_at = (struct sockaddr_in){AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
    server_at.sin_port = htons((uint16_t)atoi(words[2]));
    server.socket = open_socket(&server_at);
    client.socket = open_socket(&client_at);
    start(&client, NULL, NULL);
    const ngtcp2_cid *first = ngtcp2_conn_get_client_initial_dcid(client.conn);
    for (size_t at = 0; at < first->datalen; at++)
        sprintf(id + 2 * at, "%02x", first->data[at]);
    run();
    ask(4);
    run();
    for (int update = 0; update < kind->updates; update++) {
        // ngtcp2 wants three probe timeouts between two updates.
        for (ngtcp2_tstamp end = now() + 4 * ngtcp2_conn_get_pto(client.conn); now() < end; run())
            poll(NULL, 0, 1);
        NEED(ngtcp2_conn_initiate_key_update(update % 2 ? server.conn : client.conn, now()));
        ask(3);
        run();
    }
    for (int move = 0; move < kind->moves; move++) {
        client_at.sin_port = 0;
        client.socket = open_socket(&client_at);
        ngtcp2_path there = path(&client_at, &server_at);
        NEED(ngtcp2_conn_initiate_immediate_migration(client.conn, &there, now()));
        ask(3);
        run();
    }
    if (kind->reset) {
        // As a server that was started anew: it has the secret, and no connection.
        server.conn = NULL;
        ask(1);
        run();
        client.streams[client.count - 1].in_bytes = 0;
    } else {
        uint8_t room[1252];
        ngtcp2_ccerr why;
        ngtcp2_ccerr_default(&why);
        put(client.socket, room, NEED(ngtcp2_conn_write_connection_close(client.conn, NULL, NULL,
            room, sizeof room, &why, now())), &server_at);
    }
    write_truth(truth, id);
    return 0;
}
