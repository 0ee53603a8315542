export const SECRET_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;

/** Variables that the service, the shell, or the runtime of a script goes by. */
const RESERVED =
  /^(?:PATH|HOME|PWD|OLDPWD|SHELL|SHELLOPTS|USER|LANG|LC_.*|TERM|TMPDIR|IFS|ENV|BASH.*|LD_.*|NODE_.*|PYTHON.*|SSL_.*|CURL_.*|REQUESTS_.*|GIT_.*|NPM_.*|ATELIER_.*|ACTIONS_.*|(?:HTTP|HTTPS|ALL|NO)_PROXY)$/;

/** Says why no secret may have this name; null where it may. */
export function secretNameFault(name: string): string | null {
  if (!SECRET_NAME.test(name))
    return `"${name.slice(0, 100)}" is no name of a secret; use capital letters, digits and underscores, such as API_TOKEN`;
  return RESERVED.test(name) ? `a secret cannot be called ${name}: the sandbox sets that variable` : null;
}
