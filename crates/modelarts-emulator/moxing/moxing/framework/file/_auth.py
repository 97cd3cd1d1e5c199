"""Settings of the connection to OBS, which the emulator does not need."""


def set_auth(ak=None, sk=None, server=None, port=None, is_secure=None, ssl_verify=None,
             long_conn_mode=None, path_style=None, retry=None, retry_wait=None, client_timeout=None,
             list_max_keys=None, timeout_config=None, obs_client_log=None, negotiation=None):
    """Accepts the known settings, without effect. Other names are a TypeError."""
