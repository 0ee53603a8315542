/** The groups of routes, in the order in which a newcomer needs them: name (the path's first segment below /api) and purpose. */
const API_TAGS: readonly (readonly [name: string, description: string])[] = [
  ['agent', 'Send messages to agents; watch, steer, stop and undo their runs; decide on what they ask'],
  ['chats', 'The conversations: list, read, rename, pin, archive, delete'],
  ['workspaces', 'Workspaces, their files, search, tools, history, members, network access and budgets'],
  ['operations', 'Long work such as duplicating a workspace: progress, result, cancelling'],
  ['share', 'Public links to files and folders, and the list of all that is reachable from outside'],
  ['file-invitations', 'Files and folders shared with a person by mail'],
  ['notifications', 'What you are told: the inbox, and what reaches you where and when'],
  ['models', 'The language models that can be used'],
  ['actions', 'The catalog of everything that agents and programs can do, with search and schemas'],
  ['action-runs', 'What was done through the catalog, by whom, with which result'],
  ['actions-exec', 'The catalog for programs in a sandbox, with a token of their own'],
  ['auth', 'Accounts: registering, signing in, profile, sessions, passwords'],
  ['keys', 'API keys of your own'],
  ['service-accounts', 'Accounts for programs, and their keys'],
  ['organizations', 'Organizations, members, invitations, models, billing, audit log'],
  ['invitations', 'Invitations to organizations, as seen by those who are invited'],
  ['oauth', 'Applications that you let in, and how to put them out again'],
  ['health', 'Whether the service is up'],
];

/** Those of the groups that `used` has, in order, and after them any that has no description yet. */
export function describeTags(used: ReadonlySet<string>): { name: string; description?: string }[] {
  const known = API_TAGS.filter(([name]) => used.has(name)).map(([name, description]) => ({
    name,
    description,
  }));
  const others = [...used].filter(tag => known.every(({ name }) => name !== tag)).sort();
  return [...known, ...others.map(name => ({ name }))];
}
