import { ById, Field, PageInput, PageOf } from '../../platform/dto/index.js';
import { REPO_STATES, type RepoState } from './git-repos.store.js';

const URL_FIELD = { max: 1000, example: 'https://github.com/acme/site.git' };
const PATH = { max: 4096, example: 'site' };
const BRANCH = {
  min: 1,
  max: 200,
  pattern: /^(?!-)[^\s~^:?*[\\\p{Cc}]+$/u,
  patternHint: 'must be the name of a branch',
  example: 'main',
};
const REF = {
  min: 1,
  max: 200,
  pattern: /^(?!-)[^\s:?*[\\\p{Cc}]+$/u,
  patternHint: 'must be a commit, a branch or a tag',
  example: 'main',
};
const SHA = { example: '4b825dc642cb6eb9a060e54bf8d69288fbee4904' };
const FILE = { max: 4096, example: 'src/index.html' };

export class CreateGitRepo {
  @Field.id('The workspace') workspace_id: string;
  @Field.text('Its address, https alone, without user name and token', URL_FIELD) url: string;

  @Field.text('The folder to make for it; absent: as the repository is called', {
    ...PATH,
    min: 1,
    optional: true,
  })
  path?: string;

  @Field.text('The branch to check out; absent: the remote’s own', { ...BRANCH, optional: true })
  branch?: string;

  @Field.integer('So many commits alone, of one branch; absent: all', {
    min: 1,
    max: 1_000_000,
    optional: true,
    example: 1,
  })
  depth?: number;

  @Field.id(
    'The connection whose credential the remote gets; null: none; absent: the one that is granted for its host, if there is one',
    { optional: true, nullable: true },
  )
  connection_id?: string | null;
}

export class UpdateGitRepo extends ById({ id: 'The repository' }) {
  @Field.id('The connection whose credential the remote gets; null: none', { optional: true, nullable: true })
  connection_id?: string | null;

  @Field.text('Where its folder is by now', { ...PATH, min: 1, optional: true }) path?: string;
}

export class GitRepoView {
  @Field.id('The repository') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.text('Its folder', PATH) path: string;
  @Field.text('Its address', URL_FIELD) url: string;

  @Field.text('The branch that was checked out when it was cloned; null: none yet', {
    ...BRANCH,
    nullable: true,
  })
  branch: string | null;

  @Field.id('The connection whose credential the remote gets; null: none', { nullable: true })
  connection_id: string | null;

  @Field.choice(
    '`missing`: its folder has no repository any more; `error`: it was not cloned, clone it again',
    REPO_STATES,
  )
  state: RepoState;

  @Field.text('Why it is in this state', { nullable: true }) reason: string | null;

  @Field.id('The operation that clones it, to be watched below /api/operations', { nullable: true })
  operation_id: string | null;

  @Field.time('When it was last pulled', { nullable: true }) last_pull_at: string | null;
  @Field.time('When it was last pushed', { nullable: true }) last_push_at: string | null;
  @Field.time('When it was added') created_at: string;
}

export const GitRepoPage = PageOf(GitRepoView, 'GitRepoPage');

export class StartedCloneView {
  @Field.id('The repository') id: string;
  @Field.id('The operation, to be watched below /api/operations') operation_id: string;
}

export class GitFileView {
  @Field.text('The file', FILE) path: string;

  @Field.text('What became of it: added, modified, deleted, renamed, copied, type_changed', {
    example: 'modified',
  })
  kind: string;

  @Field.text('Where it was before it was renamed', { nullable: true, example: null }) from: string | null;
}

const FILES = { list: true, maxItems: 1000, example: ['notes.md'] } as const;

export class GitStatusView {
  @Field.text('The branch; null: none is checked out', { ...BRANCH, nullable: true }) branch: string | null;

  @Field.text('The commit that is checked out; null: there is none yet', { ...SHA, nullable: true })
  commit: string | null;

  @Field.text('The branch of the remote that it follows', { nullable: true, example: 'origin/main' })
  upstream: string | null;

  @Field.integer('Commits that the remote did not have when it was last asked', { example: 1 }) ahead: number;

  @Field.integer('Commits of the remote, when it was last asked, that are missing here', { example: 0 })
  behind: number;

  @Field.object('What the next commit has', () => GitFileView, { list: true, maxItems: 1000 })
  staged: GitFileView[];

  @Field.object('What is changed and not staged', () => GitFileView, { list: true, maxItems: 1000 })
  changed: GitFileView[];

  @Field.text('What git does not know; folders end with a slash', FILES) untracked: string[];
  @Field.text('What is in conflict', { ...FILES, example: [] }) conflicted: string[];
  @Field.boolean('Whether there is more than is listed') truncated: boolean;
}

export class ListCommits extends PageInput {
  @Field.id('The repository') id: string;

  @Field.text('From which commit, branch or tag back; absent: what is checked out', {
    ...REF,
    optional: true,
  })
  ref?: string;

  @Field.text('Only what changed this file or folder', { ...FILE, optional: true }) path?: string;
}

export class GitPersonView {
  @Field.text('Their name', { example: 'Ada Lovelace' }) name: string;
  @Field.text('Their address', { example: 'ada@example.com' }) email: string;
}

export class GitCommitView {
  @Field.text('Its name', SHA) sha: string;
  @Field.text('The commits before it', { list: true, example: [SHA.example] }) parents: string[];
  @Field.object('Who wrote it', () => GitPersonView) author: GitPersonView;
  @Field.time('When it was written') authored_at: string;
  @Field.time('When it was committed') committed_at: string;
  @Field.text('Its message', { example: 'Say hello' }) message: string;
}

export const GitCommitPage = PageOf(GitCommitView, 'GitCommitPage');

export class DiffGitRepo extends ById({ id: 'The repository' }) {
  @Field.text('The commit, branch or tag before; absent: what is checked out', { ...REF, optional: true })
  from?: string;

  @Field.text('The one after; absent: the files as they are now', { ...REF, optional: true }) to?: string;
  @Field.text('Only this file or folder', { ...FILE, optional: true }) path?: string;
}

export class GitDiffView {
  @Field.text('A unified diff, as git writes it', { example: '--- a/notes.md\n+++ b/notes.md\n' })
  diff: string;

  @Field.boolean('Whether it is cut off, after 1 MiB') truncated: boolean;
}

export class GitBranchView {
  @Field.text('Its name', BRANCH) name: string;
  @Field.boolean('Whether it is one of the remote, as it was when it was last asked') is_remote: boolean;
  @Field.text('Its commit', SHA) commit: string;

  @Field.text('The branch of the remote that it follows', { nullable: true, example: 'origin/main' })
  upstream: string | null;
}

export class GitBranchListView {
  @Field.text('The branch that is checked out; null: none', { ...BRANCH, nullable: true })
  current: string | null;

  @Field.object('The branches', () => GitBranchView, { list: true, maxItems: 2000 }) items: GitBranchView[];
  @Field.boolean('Whether there are more') truncated: boolean;
}

export class CheckoutGitRepo extends ById({ id: 'The repository' }) {
  @Field.text('The branch; one of the remote is begun here', BRANCH) branch: string;
  @Field.boolean('Whether it is made, from what is checked out', { optional: true }) create?: boolean;
}

export class CommitGitRepo extends ById({ id: 'The repository' }) {
  @Field.text('The message', {
    min: 1,
    max: 10_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'Say hello',
  })
  message: string;

  @Field.text('The files and folders to commit; absent: what is staged, or with `all` everything', {
    list: true,
    maxItems: 1000,
    max: 4096,
    optional: true,
    example: ['notes.md'],
  })
  paths?: string[];

  @Field.boolean('Whether all that is changed, added and deleted is committed', {
    optional: true,
    example: true,
    shown: true,
  })
  all?: boolean;
}

export class GitCommittedView {
  @Field.text('The commit', SHA) commit: string;
  @Field.text('The branch; null: none is checked out', { ...BRANCH, nullable: true }) branch: string | null;
}

export const PULL_MODES = ['ff', 'merge', 'rebase'] as const;

export class PullGitRepo extends ById({ id: 'The repository' }) {
  @Field.choice(
    '`ff` (the default): only where there are no commits of its own; `merge`: joins both; `rebase`: puts its own on top',
    PULL_MODES,
    { optional: true },
  )
  mode?: (typeof PULL_MODES)[number];

  @Field.boolean('Whether conflicts of a merge stay in the files, to be solved; else all is as before', {
    optional: true,
  })
  keep_conflicts?: boolean;
}

export class GitPulledView {
  @Field.text('The commit that is checked out now', { ...SHA, nullable: true }) commit: string | null;
  @Field.boolean('Whether that is another one than before') updated: boolean;
  @Field.text('What is in conflict, where it was to stay', { ...FILES, example: [] }) conflicted: string[];
}

export class PushGitRepo extends ById({ id: 'The repository' }) {
  @Field.text('The branch, of the same name there; absent: what is checked out', {
    ...BRANCH,
    optional: true,
  })
  branch?: string;

  @Field.boolean('Whether commits of the remote are replaced, if it still has those that were last fetched', {
    optional: true,
  })
  force_with_lease?: boolean;
}

export class GitPushedView {
  @Field.text('The branch', BRANCH) branch: string;
  @Field.text('The commit that the remote has now', SHA) commit: string;
  @Field.boolean('Whether it had another one before') updated: boolean;
}
