/**
 * What git is told whatever a repository's own configuration says: nothing of the system, no hooks, no monitors, no helpers, no
 * protocol but https, no submodules, no questions.
 */
const SETTINGS: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.pager', 'cat'],
  ['core.askPass', 'true'],
  ['core.sshCommand', 'false'],
  ['core.alternateRefsCommand', 'true'],
  ['core.attributesFile', '/dev/null'],
  ['core.quotePath', 'false'],
  ['core.precomposeUnicode', 'false'],
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['protocol.https.allow', 'always'],
  ['protocol.file.allow', 'never'],
  ['protocol.ext.allow', 'never'],
  ['http.followRedirects', 'initial'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['gpg.program', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['merge.autoStash', 'false'],
  ['rebase.autoStash', 'false'],
  ['rerere.enabled', 'false'],
  ['safe.directory', '*'],
  ['advice.detachedHead', 'false'],
];

/** For every git that the service runs. */
export const GIT_ENVIRONMENT: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'true',
  SSH_ASKPASS: 'true',
  GIT_ALLOW_PROTOCOL: 'https',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_PAGER: 'cat',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_MERGE_AUTOEDIT: 'no',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_COUNT: String(SETTINGS.length),
  ...Object.fromEntries(
    SETTINGS.flatMap(([name, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, name],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
};

export interface Author {
  readonly name: string;
  readonly email: string;
}

export const authorEnvironment = ({ name, email }: Author): Record<string, string> => ({
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: email,
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: email,
});
