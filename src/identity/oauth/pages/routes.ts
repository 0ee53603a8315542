/** Where the endpoints are. */
export const OAUTH_ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  pushed_authorization_request: '/oauth/par',
  device_authorization: '/oauth/device/authorize',
  code_verification: '/oauth/device',
  end_session: '/oauth/session/end',
};

/** Where a person signs in and is asked. */
export const INTERACTION_ROUTE = '/oauth/interaction';
