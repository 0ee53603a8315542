import { toView } from '../../platform/dto/index.js';
import { GitRepoView } from './git-repos.dto.js';
import type { RepoRow } from './records/git-repos.store.js';

export const repoView = (row: RepoRow): GitRepoView => toView(GitRepoView, row);
