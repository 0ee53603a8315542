/** Of Node.js, curl and git, Wget, and Python. */
const UNREACHED =
  /(?:getaddrinfo (?:EAI_AGAIN|ENOTFOUND) |Could not resolve host: |unable to resolve host address ['‘]|Failed to resolve '(?=[\w.-]+' \(\[Errno))([\w.-]{1,253})/;

/** A host that a program without a way out asked for by name, as its output tells; undefined where it tells of none. */
export const unreachedHost = (output: string): string | undefined => UNREACHED.exec(output)?.[1];
