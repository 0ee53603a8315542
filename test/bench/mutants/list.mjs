// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are texts of the source
/** Each mutant: a file, what stands there, what is put instead, and the specs and, by their names, tests that must notice. */
const access = { specs: ['src/platform/access/policy'], tests: '' };
const policy = 'src/platform/access/policy.ts';
const visible = 'src/platform/access/access.ts';
const stores = 'src/workspaces/core/workspaces.store.ts';
const quota = 'src/workspaces/changes/workspace-quota.ts';
const ledger = 'src/platform/idempotency/idempotency-ledger.ts';
const exchange = 'src/platform/idempotency/idempotency-exchange.ts';
const once = {
  specs: ['test/contracts/exactly-once', 'test/e2e/platform/idempotency'],
  tests:
    'Idempotency-Key|died|not kept|kept for one|forgotten by|two processes|/api/workspaces with a key|files/mkdir with|agent/message with|answer that was committed',
};
const counted = { specs: ['test/e2e/workspaces/quota'], tests: 'others have logged' };
const billing = { specs: ['test/e2e/identity/billing'], tests: 'a budget|alerts|reservations' };
const budgets = 'src/identity/billing/budgets.ts';
const budgetRows = 'src/identity/billing/budgets.store.ts';
const standing = 'src/publishing/exposure/public-link.ts';
const rehearsing = { specs: ['test/contracts/dry-run'], tests: 'does nothing' };
const doubting = { specs: ['test/e2e/agents/delivery'], tests: 'a run whose sender' };
const links = 'src/publishing/exposure/public-links.store.ts';
const interim = 'libs/reverse-proxy/ask.ts';
const proxying = tests => ({ specs: ['libs/reverse-proxy/reverse-proxy'], tests });
const egress = tests => ({ specs: ['src/workspaces/egress/egress-proxy'], tests });
const polls = 'src/identity/oauth/storage/artifacts.store.ts';
const spending = 'src/identity/billing/ledger.store.ts';
const queue = 'src/agents/runs/run-queue.store.ts';
const guard = 'src/platform/credentials/credential.guard.ts';
const seen = { specs: ['test/contracts/guards'], tests: 'who sees a workspace' };
const matrix = { specs: ['test/e2e/workspaces/workspaces'], tests: 'for every combination' };
const sharing = tests => ({ specs: ['test/e2e/publishing/share'], tests });
const held = { specs: ['test/contracts/guards'], tests: 'what a workspace may hold' };
const routes = tests => ({ specs: ['test/contracts/routes'], tests });
const lost = tests => ({ specs: ['test/faults/worker-death'], tests: `PostgreSQL ${tests}` });
const sandboxes = 'src/workspaces/sandboxes/running-sandboxes.store.ts';
const leased = { specs: ['test/e2e/workspaces/sandboxes', 'test/faults/live-sessions'], tests: '' };
const leases = 'src/platform/leases/leases.ts';
const jobs = 'src/platform/jobs/job.store.ts';
const losing = { specs: ['test/faults/redis-loss'], tests: 'PostgreSQL' };
const slots = 'src/agents/models/model-slots.store.ts';
const asking = { specs: ['test/e2e/agents/model-fallback'], tests: 'one thing at a time' };
const deciding = 'src/agents/approvals/approval-page.service.ts';
const approving = { specs: ['test/e2e/agents/run-approvals'], tests: 'the page of an approval of a run' };
const zips = 'src/workspaces/archives/folder-zips.ts';
const zipping = { specs: ['src/workspaces/archives/folder-zips'], tests: '' };
const search = 'src/workspaces/search/search.service.ts';
const searching = { specs: ['test/e2e/workspaces/capacity'], tests: 'searches so much' };
const places = 'src/workspaces/sandboxes/sandbox-slots.ts';
const refusing = { specs: ['test/e2e/workspaces/capacity'], tests: 'refuses a command' };
const limit = 'libs/concurrency-limit/concurrency-limit.ts';
const limited = { specs: ['libs/concurrency-limit'], tests: '' };
const passwords = 'src/identity/auth/passwords.service.ts';
const emailChange = 'src/identity/auth/email.service.ts';
const mailing = tests => ({ specs: ['test/e2e/identity/account-mail'], tests });
const copies = 'src/workspaces/duplicate/duplicate.service.ts';
const copying = { specs: ['test/e2e/workspaces/duplicate'], tests: 'as many under way' };
const carrying = { specs: ['test/faults/run-holders'], tests: '' };
const pace = { specs: ['test/e2e/identity/oauth-device-pace'], tests: '' };

export const MUTANTS = [
  // The policy.
  [
    policy,
    'ranking.indexOf(role) <= ranking.indexOf(least)',
    'ranking.indexOf(role) < ranking.indexOf(least)',
    access,
  ],
  [
    policy,
    'ranking.indexOf(role) <= ranking.indexOf(least)',
    'ranking.indexOf(role) >= ranking.indexOf(least)',
    access,
  ],
  [policy, 'if (scopes && !scopes.includes(scope))', 'if (false)', access],
  [policy, 'if (!atLeast(ORGANIZATION_ROLES, own, role))', 'if (false)', access],
  [policy, 'if (!organizationRoleAllows(role, permission))', 'if (false)', access],
  [policy, 'if (!roleAllows(role, permission))', 'if (false)', access],
  [policy, "'file.write': workspace('editor'", "'file.write': workspace('viewer'", access],
  [policy, "'workspace.delete': workspace('admin'", "'workspace.delete': workspace('editor'", access],
  [policy, "'member.manage': organization('admin'", "'member.manage': organization('member'", access],
  [
    policy,
    "'code.run': workspace('editor', 'code:run'",
    "'code.run': workspace('editor', 'files:read'",
    access,
  ],
  // Who sees a workspace, and in which role, in SQL.
  [visible, "when w.created_by = m.principal_id then 'admin'", '', matrix],
  [visible, "when w.visibility = 'private' then null", '', matrix],
  [visible, "when m.role in ('owner', 'admin') then", "when m.role = 'owner' then", matrix],
  [
    visible,
    "when m.role in ('owner', 'admin') then",
    "when m.role in ('owner', 'admin', 'member') then",
    matrix,
  ],
  [visible, 'when wm.role is not null then wm.role', '', matrix],
  [visible, " and m.role <> 'guest' then", ' then', matrix],
  [visible, "w.visibility = 'org' and m.role", 'm.role', matrix],
  [visible, "then 'editor'\nend", "then 'viewer'\nend", matrix],
  [visible, " and m.role <> 'guest' then", ' then', seen],
  [visible, 'sql`${ROLE} is not null and ${isReachableBy(actor)}`', 'sql`${isReachableBy(actor)}`', seen],
  [stores, 'if (!row?.role) throw noSuchWorkspace();', 'if (!row) throw noSuchWorkspace();', seen],
  [stores, '    requireInWorkspace(actor, permission, workspace);', '', routes('is forbidden to a viewer')],
  [policy, '  requireWorkspaceRole(role, permission);', '', routes('is forbidden to a viewer')],
  [policy, '  requireScope(actor, permission);', '', routes('needs the scope')],
  [policy, 'if (featuresOff.includes(feature))', 'if (false)', access],
  [policy, 'if (surface) requireFeature(featuresOff, surface);', '', access],
  [
    visible,
    'sql`${ROLE} is not null and ${isReachableBy(actor)}`',
    'sql`${ROLE} is not null`',
    { specs: ['test/e2e/workspaces/features'], tests: 'over MCP' },
  ],
  [
    standing,
    "if (features_off.includes('sharing')) return false;",
    '',
    { specs: ['test/e2e/workspaces/features'], tests: 'links' },
  ],
  [guard, "if (open === 'always' ||", 'if (true ||', routes('closed to callers without')],
  [guard, "if (actor.credential.type !== 'session')", 'if (false)', routes('is refused to a key')],
  [
    standing,
    'giver_role !== null && roleAllows(giver_role, this.needs(row))',
    'true',
    sharing('maker’s access'),
  ],
  [links, 'rolesWith(this.link.permissions.end)', "rolesWith('share.read')", sharing('is one list')],
  [links, 'const query = filter.all', 'const query = true', sharing('is one list')],
  // What a dry run leaves undone, and what a run loses.
  [
    'src/workspaces/core/workspace-folders.ts',
    'maxFileBytes, beforeChange: beforeSideEffect }',
    'maxFileBytes }',
    rehearsing,
  ],
  [
    'src/agents/runs/run-acceptance.store.ts',
    'dryRun() ? undefined : this.queue.reserve()',
    'this.queue.reserve()',
    rehearsing,
  ],
  ['src/agents/runs/run-execution.ts', 'await this.authority.require(run);', '', doubting],
  [
    'src/agents/runs/run-authority.ts',
    'const ofAccess = [accessTopic(actor.id), credential',
    'const ofAccess = [credential',
    doubting,
  ],
  [
    'src/agents/runs/run-authority.ts',
    'accessTopic(actor.id), credentialTopic(actor.credential.id)]',
    'accessTopic(actor.id)]',
    doubting,
  ],
  // What a workspace may hold.
  [
    'src/workspaces/files/file-writes.service.ts',
    'this.quota.during(workspace_id, { bytes: Math.max(0, growth), files: 0 }, write)',
    'write()',
    held,
  ],
  [
    'src/workspaces/changes/file-writer.ts',
    '{ bytes: bytes ?? 0, files: made }',
    '{ bytes: 0, files: 0 }',
    held,
  ],
  [
    'src/workspaces/files/file-tree.service.ts',
    'return missing > 0 ? this.quota.during',
    'return false ? this.quota.during',
    held,
  ],
  [
    'src/workspaces/changes/file-writer.ts',
    'isWhole ? Buffer.byteLength(content) : options.expectedBytes',
    'isWhole ? 0 : options.expectedBytes',
    held,
  ],
  [
    'src/workspaces/changes/file-writer.ts',
    'isWhole ? Buffer.byteLength(content) : options.expectedBytes',
    'isWhole ? Buffer.byteLength(content) : 0',
    held,
  ],
  [
    'src/workspaces/files/file-tree.service.ts',
    'bytes: originals.reduce((sum, { size }) => sum + size, 0),',
    'bytes: 0,',
    held,
  ],
  [
    'src/workspaces/files/file-tree.service.ts',
    'files: Math.max(0, missing + originals.filter(isKept).length - replaced.length)',
    'files: 0',
    held,
  ],
  ['libs/workspace-fs/workspace-fs.ts', 'return missing;', 'return 1;', held],
  [quota, 'files: files - begun.files };', 'files: Math.max(0, files - begun.files) };', held],
  [quota, 'bytes + more.bytes <= this.config.workspaceLimits.bytes &&', '', held],
  [quota, 'files + more.files <= this.config.workspaceLimits.files;', 'true;', held],
  [quota, 'if (!fits(usage)) throw noRoomFor(usage, more, this.config.workspaceLimits);', '', held],
  [quota, 'if (isOld || this.isMoreThanHalf(known)) await', 'if (isOld) await', counted],
  [quota, 'files: files + folders + hidden.files + soon.files', 'files: soon.files', held],
  // What a credential may spend.
  [budgets, 'if (refusal) throw await this.refused(scope, refusal, estimateUsd);', '', billing],
  [policy, '  WITHIN_WORKSPACES.includes(permission);', '  true;', routes('limited to some')],
  [
    budgets,
    'if (!refusal.is_full) throw await this.refused(call, refusal, estimateUsd);',
    'return;',
    billing,
  ],
  [budgetRows, 'where spent_usd >= monthly_usd or spent_usd', 'where spent_usd', billing],
  [
    budgetRows,
    'in (${organizationId}, ${workspaceId}) and hard_stop',
    'in (${organizationId}) and hard_stop',
    billing,
  ],
  [
    spending,
    'do update set spent_usd = s.spent_usd + excluded.spent_usd',
    'do update set spent_usd = excluded.spent_usd',
    billing,
  ],
  [
    spending,
    'unnest(array[${organization_id}, ${workspace_id}]::uuid[]) scope_id',
    'unnest(array[${organization_id}]::uuid[]) scope_id',
    billing,
  ],
  [spending, 'where spent.spent_usd > 0 and spent.spent_usd >=', 'where spent.spent_usd <', billing],
  // What is carried out once.
  [ledger, ' and r.commits_answer and ${this.rows.isFree}', ' and ${this.rows.isFree}', once],
  [ledger, 'r.commits_answer and ${this.rows.isFree} and', 'r.commits_answer and', once],
  [ledger, ' and r.fingerprint = excluded.fingerprint)', ')', once],
  [ledger, 'where r.expires_at < now()\n', 'where false\n', once],
  [ledger, "if (!fingerprint.equals(question.fingerprint)) return { state: 'other-request' };", '', once],
  [ledger, 'where holder = ${holder} and answer is null`', 'where holder = ${holder}`', once],
  [exchange, 'where holder = ${holder}::uuid and answer is null', 'where holder = ${holder}::uuid', once],
  [
    'src/platform/database/database.ts',
    'if (!(await request.keep(this, view))) throw new RequestLost();',
    'await request.keep(this, view);',
    once,
  ],
  [
    'src/platform/idempotency/idempotency-ledger.ts',
    'if (requests + measured.admitted >=',
    'if (false && requests + measured.admitted >=',
    once,
  ],
  ['src/platform/idempotency/idempotency-ledger.ts', '|| bytes >= MAX_KEPT_BYTES', '', once],
  // Who has a run.
  [
    queue,
    "and status = 'pending' and merged_into is null and ${this.rows.isOurs} for update",
    "and status = 'pending' and merged_into is null for update",
    carrying,
  ],
  [queue, ' and above.holder = ${this.leases.processId})', ')', carrying],
  [queue, "where status = 'pending' and ${this.rows.isOrphaned}", 'where false', lost('goes on after')],
  [queue, 'attempt = attempt + 1,', 'attempt = attempt,', lost('goes on after')],
  // Who has a sandbox.
  [sandboxes, 'where ${this.rows.isOurs} or ${this.rows.isOrphaned}', '', leased],
  [sandboxes, 'where ${this.rows.isOurs} or ${this.rows.isOrphaned}', 'where ${this.rows.isOurs}', leased],
  [sandboxes, 'where ${this.rows.isOrphaned} or ${forgotten}', 'where true', leased],
  [
    sandboxes,
    'where workspace_id = ${workspaceId} and not ${this.rows.isOrphaned}\n          and (',
    'where true and (',
    leased,
  ],
  [sandboxes, '::uuid, id) and workspace_id = ${workspaceId} and not', '::uuid, id) and not', leased],
  [sandboxes, 'and not ${this.rows.isOrphaned}\n        returning', '\n        returning', leased],
  [limit, 'if (line.running < this.max) line', 'if (true) line', limited],
  [limit, 'if (isOver) return;', '', limited],
  [limit, 'line.leave(waiting);', '', limited],
  [limit, '() => leave(this.refusal())', '() => undefined', limited],
  // How much goes on at once.
  [zips, 'held.push(await this.ofLink.acquire({ key: linkId, signal }));', ';', zipping],
  [zips, 'held.push(await ofWorkspace.acquire({ key: workspaceId, signal }));', '', zipping],
  [zips, 'linkId === undefined ? this.ofMembers : this.ofVisitors', 'this.ofMembers', zipping],
  [zips, 'held.push(await this.inProcess.acquire({ signal }));', '', zipping],
  [zips, "once('close', leave)", "once('close', () => undefined)", zipping],
  [zips, 'signal.throwIfAborted();', '', zipping],
  [zips, 'if (signal.aborted) zip.destroy();', '', zipping],
  [zips, 'leave();\n      throw error;\n    }\n  }\n\n', 'throw error;\n    }\n  }\n\n', zipping],
  [zips, 'leave();\n      throw error;\n    }\n  }\n}', 'throw error;\n    }\n  }\n}', zipping],
  [search, 'this.ofWorkspace.run(turn, { key: workspace.id, signal })', 'turn()', searching],
  [search, 'this.inProcess.run(work, { whose, signal })', 'work()', searching],
  [search, 'MAX_IN_PROCESS = 16', 'MAX_IN_PROCESS = 17', searching],
  [places, 'await this.ofWorkspace.acquire({ key: id, signal })', '() => undefined', refusing],
  [
    places,
    'await this.ofOrganization.acquire({ key: organization_id, signal })',
    '() => undefined',
    refusing,
  ],
  [places, 'releaseWorkspace();\n      throw error;', 'throw error;', refusing],
  [
    'src/workspaces/archives/archives.service.ts',
    'this.limit.run(() => this.extractNow(actor, files, input), { key: input.workspace_id })',
    'this.extractNow(actor, files, input)',
    { specs: ['test/e2e/workspaces/capacity'], tests: 'unpacks so many' },
  ],
  [
    copies,
    'if ((await this.operations.countUnderWay(organizationId, workspaceDuplicate)) >= MAX_UNDER_WAY)',
    'if (false)',
    copying,
  ],
  [
    'src/workspaces/operations/operations.store.ts',
    "where organization_id = ${organizationId} and kind = ${kind} and state in ('queued', 'running')`",
    "where kind = ${kind} and state in ('queued', 'running')`",
    copying,
  ],
  [
    'src/workspaces/operations/operations.store.ts',
    "where organization_id = ${organizationId} and kind = ${kind} and state in ('queued', 'running')`",
    'where organization_id = ${organizationId}`',
    copying,
  ],
  ['src/agents/tools/tool-provider.ts', ' || error instanceof LimitReached', '', refusing],
  // Who lives.
  [
    leases,
    'seen_at < now() - ${LOST_SECONDS}',
    'seen_at < now() - 1000 * ${LOST_SECONDS}',
    { specs: ['test/e2e/platform/leases', 'test/faults/leases'], tests: '' },
  ],
  // Whose turn a background job is.
  [jobs, 'sql<boolean>`failed_at is null\n', 'sql<boolean>`false and failed_at is null\n', losing],
  [jobs, 'sql<boolean>`failed_at is null\n', 'sql<boolean>`true\n', losing],
  [
    jobs,
    'and failed_at is null and ${this.rows.isFree}\n        returning',
    'and failed_at is null\n        returning',
    losing,
  ],
  // Who decides about the calls of a run, and how often a device asks.
  [deciding, 'if (found?.mayDecide && standingOf', 'if (found && standingOf', approving],
  [
    deciding,
    "if (problem.status === 403) return 'looks';",
    "if (problem.status !== 500) return 'looks';",
    approving,
  ],
  [polls, 'coalesce(poll_seconds, ${POLL_SECONDS}) + ${SLOWER_BY_SECONDS}', '${POLL_SECONDS}', pace],
  [polls, 'polled_at is null or\n', 'true or\n', pace],
  // What a server, a visitor or a sandbox may hold of the service.
  [interim, 'if (++interim > MAX_INTERIM)', 'if (false)', proxying('eight others|without end')],
  [
    'libs/reverse-proxy/upgrade-client.ts',
    'if (!this.isLeaving) this.socket.destroy();',
    '',
    proxying('whose client leaves'),
  ],
  [
    'libs/egress-proxy/egress-proxy.ts',
    'this.server.maxConnections = maxConnections + MORE_CLIENTS;',
    '',
    egress('takes so many connections'),
  ],
  [
    'src/hosting/gateway/request-limits.ts',
    'if (!isTooMany) return end;',
    'return end;',
    { specs: ['src/hosting/gateway/request-limits'], tests: '' },
  ],
  // Who may ask a model.
  [slots, 'where ${this.rows.isOrphaned} or', 'where', asking],
  [
    slots,
    'forgotten(this.database, id => this.mine.has(id))',
    'forgotten(this.database, () => false)',
    asking,
  ],
  [slots, 'limit greatest(0, ${limit}::int - (', 'limit greatest(1, ${limit}::int - (', asking],
  [slots, 'max(round) filter (where organization_id = ${organizationId}) + 1, ', '', asking],
  [
    slots,
    'where provider = ${provider} and not entered order by round, number',
    'where provider = ${provider} and not entered order by number',
    asking,
  ],
  [
    slots,
    'delete from model_slot where id = ${id}',
    'delete from model_slot where false and id = ${id}',
    asking,
  ],
  [
    passwords,
    "['reset', 'email'] as const",
    "['reset'] as const",
    mailing('before the password was changed'),
  ],
  [passwords, 'user.emailVerifiedAt ? undefined :', 'true ? undefined :', mailing('never verified')],
  [
    emailChange,
    'const MAX_RECEIVED_BY_NEW_ADDRESS = 5;',
    'const MAX_RECEIVED_BY_NEW_ADDRESS = 500;',
    mailing('more than five'),
  ],
  [
    'src/agents/instructions/instructions.service.ts',
    "requireLocked(unit, actor, 'agent.instruct'",
    "requireLocked(unit, actor, 'organization.read'",
    { specs: ['test/e2e/agents/agent-instructions'], tests: 'set by admins' },
  ],
];
