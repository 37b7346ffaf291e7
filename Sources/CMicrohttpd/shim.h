#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>

// MHD_start_daemon is variadic, which Swift cannot call. Listens on 127.0.0.1 only, one thread a connection.
static inline struct MHD_Daemon *tm_mhd_start(
    uint16_t port, unsigned int connections_max, unsigned int idle_seconds, size_t head_bytes_max,
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection),
    MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback connected, void *context) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_SUPPRESS_DATE_NO_CLOCK |
          MHD_USE_ITC | MHD_ALLOW_UPGRADE,
      port, NULL, NULL, handler, context,
      MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
      MHD_OPTION_CONNECTION_LIMIT, connections_max,
      MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, head_bytes_max,
      MHD_OPTION_URI_LOG_CALLBACK, target, context,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, connected, context,
      MHD_OPTION_END);
}

// MHD_get_daemon_info is variadic too. 0 when the port is unknown.
static inline uint16_t tm_mhd_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}

// MHD_get_connection_info is variadic too. -1 when the socket is unknown.
static inline int tm_mhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// Swift's names for the two codes depend on how it cuts their common beginning.
static inline bool tm_mhd_is_start(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}

// MHD_upgrade_action is variadic too. Ends an upgraded connection, whose socket must not be used any more.
static inline void tm_mhd_close_upgraded(struct MHD_UpgradeResponseHandle *handle) {
  MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}
