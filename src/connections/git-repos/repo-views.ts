import { iso, isoOrNull } from '../../platform/database/index.js';
import type { GitRepoView } from './git-repos.dto.js';
import type { RepoRow } from './records/git-repos.store.js';

export const repoView = (row: RepoRow): GitRepoView => ({
  id: row.id,
  workspace_id: row.workspace_id,
  path: row.path,
  url: row.url,
  branch: row.branch,
  connection_id: row.connection_id,
  state: row.state,
  reason: row.reason,
  operation_id: row.operation_id,
  last_pull_at: isoOrNull(row.last_pull_at),
  last_push_at: isoOrNull(row.last_push_at),
  created_at: iso(row.created_at),
});
