/**
 * Whether an `Authorization` header holds an OAuth access token (RFC 9068: its type is `at+jwt`) rather than a session's.
 * This only decides who looks at it: each of the two verifies its own kind strictly, and takes no other.
 */
export function isOAuthToken(authorization: string): boolean {
  if (/^DPoP /i.test(authorization)) return true;
  const [, header] = /^Bearer +([\w-]+)\./i.exec(authorization) ?? [];
  return (
    header !== undefined &&
    /"typ"\s*:\s*"(application\/)?at\+jwt"/i.test(Buffer.from(header, 'base64url').toString())
  );
}
