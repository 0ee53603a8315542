import { Glob } from '#libs/workspace-fs/index.js';

const FOLDERS = new Set(['.git', '.atelier', '.ssh', '.aws', '.gnupg', 'node_modules']);
/** Files that hold credentials. */
const FILES = [
  ...['.env*', '.netrc', '.npmrc', '.pypirc', '.git-credentials', 'id_rsa*', 'id_ed25519*', 'id_ecdsa*'],
  ...['*.pem', '*.key', '*.p12', '*.pfx', '*.jks', '*.keystore'],
];

/** Says which paths never become part of a template, by the rules of all and by globs of its own. */
export function leftOutBy(own: readonly string[]): (path: string) => boolean {
  const globs = [...FILES, ...own].map(pattern => new Glob(pattern));
  return path => {
    const names = path.split('/');
    if (names.some(name => FOLDERS.has(name))) return true;
    // A pattern of a folder leaves out what is below.
    return names.some((_, index) => {
      const part = names.slice(0, index + 1).join('/');
      return globs.some(glob => glob.matches(part));
    });
  };
}

/** The globs of a .atelierignore: one a line, # begins a comment. */
export const ignoredIn = (text: string): string[] =>
  text
    .split('\n')
    .map(line => line.trim().replace(/\/$/, ''))
    .filter(line => line !== '' && !line.startsWith('#'));
