/**
 * The policy table against the running service: every action that has a permission, for every role, through a person's
 * sign-in, a key bound to the organization, a service account and a key without the scope. Rehearsed, so nothing is done.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ORGANIZATION_ROLES,
  type OrganizationPermission,
  type Permission,
  POLICY,
  SCOPES,
  WORKSPACE_ROLES,
  type WorkspacePermission,
} from '../../src/platform/access/index.js';
import { Client, type Json } from '../harness/client.js';
import { sampleInput } from '../harness/sample-input.js';
import { type Person, TestService } from '../harness/service.js';

let service: TestService;
let owner: Person;
let ids: Record<string, string>;
let catalog: Json[];
const people = new Map<string, Person>();
const collaborators = new Map<string, Person>();
const accounts = new Map<string, Client>();

beforeAll(async () => {
  service = await TestService.start();
  owner = await service.person('Owner');
  const organization = owner.organizationId;
  const workspace = await service.workspace(owner, { visibility: 'restricted' });
  await owner.client.put(`/api/workspaces/${workspace}/files/content`, {
    path: 'notes/plan.md',
    content: 'teh plan',
  });
  const member = await service.person('Member');
  await service.join(member, { organization, role: 'guest' });
  ids = { workspace_id: workspace, organization_id: organization, user_id: member.id, role: 'guest' };
  for (const role of ORGANIZATION_ROLES) {
    const person = await service.person(role);
    await service.join(person, { organization, role });
    people.set(role, person);
    accounts.set(role, await serviceAccount(organization, role));
  }
  for (const workspaceRole of WORKSPACE_ROLES) {
    const person = await service.person(workspaceRole);
    await service.join(person, { organization, role: 'guest', workspace, workspaceRole });
    collaborators.set(workspaceRole, person);
  }
  catalog = await everyAction();
});
afterAll(() => service.stop());

async function serviceAccount(organization_id: string, role: string): Promise<Client> {
  const { body } = await owner.client.post('/api/service-accounts', { organization_id, name: role, role });
  const key = await owner.client.post(`/api/service-accounts/${body.id}/keys`, { name: 'CI' });
  return new Client(service.url, { 'x-api-key': key.body.api_key });
}

async function everyAction(): Promise<Json[]> {
  const found: Json[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await owner.client.get(`/api/actions?limit=200${cursor && `&cursor=${cursor}`}`);
    found.push(...body.items);
    cursor = body.next_cursor ?? '';
    if (!cursor) break;
  }
  const whole = await Promise.all(found.map(({ name }) => owner.client.get(`/api/actions/${name}`)));
  return whole.map(({ body }) => body);
}

/** Actions of a policy that name their organization or workspace themselves. */
const actionsOn = (kind: 'organization' | 'workspace') =>
  catalog.filter(
    ({ permission, input_schema }) =>
      POLICY[permission as Permission]?.on === kind && input_schema.required?.includes(`${kind}_id`),
  );

const INPUTS = {
  path: 'notes/plan.md',
  from: 'notes/plan.md',
  to: 'notes/copy.md',
  old_text: 'teh',
  new_text: 'the',
  message: 'list',
};

/** What these refuse those who may: the sample names nothing that is there or fits. */
const OTHERWISE: Record<string, number> = {
  workspace_secret_delete: 404,
  workspace_secret_set: 422,
  file_version_diff: 404,
  file_version_read: 404,
  file_restore: 404,
  file_batch_edit: 422,
  file_extract: 422,
  file_patch: 422,
  folder_create: 409,
  form_check: 422,
  form_preview: 422,
  form_share: 422,
  sandbox_stop: 404,
  connector_create: 422,
  integration_client_set: 404,
  integration_create: 404,
  integration_provider_create: 422,
  integration_provider_delete: 404,
  integration_provider_update: 422,
  integration_request: 404,
  automation_deploy: 422,
  automation_stop: 422,
  automation_trigger: 422,
  automation_validate: 422,
  loop_create: 422,
  git_repo_create: 422,
  invitation_resend: 404,
  invitation_revoke: 404,
  workspace_member_remove: 404,
  model_settings_update: 422,
};

/** The scopes that an action asks for on its way, beyond its own. */
const FURTHER_SCOPES: Record<string, string[]> = {
  file_invitation_create: ['files:read'],
  share_create: ['files:read'],
  workspace_duplicate: ['workspaces:write'],
  organization_update: ['organizations:read'],
  workspace_update: ['workspaces:read'],
  workspace_visibility_set: ['workspaces:read'],
};

/** 200 also for what is refused as {@link OTHERWISE} has it. */
async function rehearse(client: Client, action: Json): Promise<number> {
  const role = POLICY[action.permission as Permission].on === 'workspace' ? 'viewer' : 'guest';
  const input = sampleInput(action, { ...ids, ...INPUTS, role });
  const { status } = await client.post(`/api/actions/${action.name}/run`, { input, dry_run: true });
  return status === OTHERWISE[action.name] ? 200 : status;
}

/** What the table says: 200 from the least role upwards, else 403. */
function expected(ranking: readonly string[], action: Json, role: string): number {
  const { least } = POLICY[action.permission as OrganizationPermission | WorkspacePermission];
  return ranking.indexOf(role) <= ranking.indexOf(least) ? 200 : 403;
}

describe('what the table says of an organization', () => {
  it.each(ORGANIZATION_ROLES)('holds for a person who is %s, signed in and by a bound key', async role => {
    const person = people.get(role) as Person;
    const bound = await service.key(person, { organization_id: owner.organizationId });
    const actions = actionsOn('organization');
    expect(actions.length).toBeGreaterThan(8);
    for (const action of actions) {
      const status = expected(ORGANIZATION_ROLES, action, role);
      expect([action.name, await rehearse(person.client, action)]).toEqual([action.name, status]);
      expect([action.name, await rehearse(bound, action)]).toEqual([action.name, status]);
    }
  });

  it.each(ORGANIZATION_ROLES)('holds for a service account that is %s', async role => {
    for (const action of actionsOn('organization')) {
      // A service account leaves nothing behind and owns nothing: it is deleted, by a person.
      const isForPeople = ['connector_create', 'organization_leave', 'organization_transfer'].includes(
        action.name,
      );
      // It has no connections of its own, and those of the organization are its admins'.
      const permission = action.name === 'integration_create' ? 'provider.configure' : action.permission;
      const status = isForPeople ? 403 : expected(ORGANIZATION_ROLES, { ...action, permission }, role);
      expect([action.name, await rehearse(accounts.get(role) as Client, action)]).toEqual([
        action.name,
        status,
      ]);
    }
  });
});

describe('a key that is limited to some workspaces', () => {
  it('reads of its owner’s organization what concerns these, and changes nothing there', async () => {
    const limited = await service.key(owner, { workspace_ids: [ids.workspace_id] });
    const open = ['organization.read', 'audit.read', 'billing.read', 'connection.read', 'exposure.list'];
    for (const action of actionsOn('organization')) {
      const status = open.includes(action.permission) ? 200 : 403;
      expect([action.name, await rehearse(limited, action)]).toEqual([action.name, status]);
    }
    const path = `/api/organizations/${owner.organizationId}`;
    const someone = { email: 'someone@example.com', role: 'owner' };
    expect((await limited.post(`${path}/invitations`, someone)).status).toBe(403);
    expect((await limited.patch(path, { name: 'Taken' })).status).toBe(403);
    expect((await limited.delete(path)).status).toBe(403);
    const { items } = (await limited.get('/api/actions')).body;
    expect(items.map(({ name }: Json) => name)).not.toContain('invitation_create');
  });
});

describe('what the table says of a workspace', () => {
  it.each(WORKSPACE_ROLES)(
    'holds for a person who is %s, signed in and by a key for that workspace',
    async role => {
      const person = collaborators.get(role) as Person;
      const limited = await service.key(person, { workspace_ids: [ids.workspace_id] });
      const actions = actionsOn('workspace');
      expect(actions.length).toBeGreaterThan(15);
      for (const action of actions) {
        // A copy is a new workspace of the organization, in which all of them are guests.
        const isCopy = action.name === 'workspace_duplicate';
        const status = isCopy ? 403 : expected(WORKSPACE_ROLES, action, role);
        expect([action.name, await rehearse(person.client, action)]).toEqual([action.name, status]);
        expect([action.name, await rehearse(limited, action)]).toEqual([action.name, status]);
      }
    },
  );
});

describe('a key that lacks one scope', () => {
  it('is refused exactly the actions that need it', async () => {
    const places = [...actionsOn('organization'), ...actionsOn('workspace')];
    const needed = [...new Set(places.flatMap(({ scopes }) => scopes as string[]))];
    for (const scope of needed) {
      const key = await service.key(owner, { scopes: SCOPES.filter(other => other !== scope) });
      for (const action of places) {
        const scopes = [...action.scopes, ...(FURTHER_SCOPES[action.name] ?? [])];
        const status = scopes.includes(scope) ? 403 : 200;
        expect([scope, action.name, await rehearse(key, action)]).toEqual([scope, action.name, status]);
      }
    }
  });
});
