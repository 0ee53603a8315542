import { Forbidden, Invalid } from '../../../platform/errors/index.js';

export const LEVELS = ['read', 'write', 'admin'] as const;
export type Level = (typeof LEVELS)[number];
export type Permissions = Readonly<Record<string, Level>>;

/** What a provider itself limits a credential to. Empty: all that there is. */
export interface CredentialLimits {
  /** Names of repositories of the account, without it. */
  readonly repositories: readonly string[];
  readonly permissions: Permissions;
}

const MAX_PERMISSIONS = 50;
const NONE: CredentialLimits = { repositories: [], permissions: {} };

/** As they are kept and compared: GitHub does not tell names by their case, and order says nothing. Throws Invalid. */
export function parseLimits(
  { repositories = [], permissions = {} }: { repositories?: readonly string[]; permissions?: object },
  field: string,
): CredentialLimits {
  const levels = Object.entries(permissions).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (levels.length > MAX_PERMISSIONS)
    throw new Invalid(`${field}.permissions must have at most ${MAX_PERMISSIONS} names`);
  for (const [name, level] of levels)
    if (!/^[a-z][a-z_]{0,59}$/.test(name) || !LEVELS.includes(level))
      throw new Invalid(
        `${field}.permissions must be such as {"contents": "read", "issues": "write"}, with the names of GitHub`,
      );
  const names = new Set(repositories.map(name => name.toLowerCase()));
  return { repositories: [...names].toSorted(), permissions: Object.fromEntries(levels) };
}

export const isLimited = ({ repositories, permissions }: CredentialLimits): boolean =>
  repositories.length > 0 || Object.keys(permissions).length > 0;

/** For one repository, as far as a grant permits it: its contents, and nothing else of it. Throws Forbidden. */
export function limitedToRepository(
  { repositories, permissions }: CredentialLimits = NONE,
  repository: string,
  level: 'read' | 'write',
): CredentialLimits {
  const name = repository.toLowerCase();
  if (repositories.length > 0 && !repositories.includes(name))
    throw new Forbidden(`The grant names the repositories ${repositories.join(', ')}, and not ${repository}`);
  const { contents } = permissions;
  const isPermitted = Object.keys(permissions).length === 0 || contents === 'write' || contents === level;
  if (!isPermitted)
    throw new Forbidden(`The grant has contents: ${contents ?? 'none'}, and this needs contents: ${level}`);
  return { repositories: [name], permissions: { contents: level } };
}
