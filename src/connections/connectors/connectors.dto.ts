import { ById, Field, NAME, PageInput, PageOf, SAMPLE_IDS } from '../../platform/dto/index.js';
import { AUTHS, type Auth, TOOL_STATES, type ToolState } from './records/connector-rows.js';
import { TOOL_EFFECTS } from './tools/pin.js';

const name = { ...NAME, max: 80, example: 'Linear' };
const SLUG = {
  min: 1,
  max: 30,
  pattern: /^[a-z0-9]+(-[a-z0-9]+)*$/,
  patternHint: 'must be lower-case letters and digits, with single dashes between them',
  example: 'linear',
};
const ADDRESS = { min: 1, max: 2000, format: 'uri' as const, example: 'https://mcp.example.com/mcp' };
const OWNERS = ['user', 'organization'] as const;
export const CONNECTOR_STATES = [
  'active',
  'needs_auth',
  'needs_reauth',
  'needs_review',
  'error',
  'disabled',
] as const;
export type ConnectorState = (typeof CONNECTOR_STATES)[number];

const AUTH =
  'How the caller is known there. none: not at all; bearer: a token that a person has; headers: headers that a person has; oauth: the server says who gives access, and a person authorizes it there';

export class OAuthClientInput {
  @Field.text('The client id that was registered', { min: 1, max: 2000, example: 'atelier' }) id: string;

  @Field.text('Its secret, where it has one', { min: 1, max: 4000, optional: true, secret: true })
  secret?: string;
}

export class CreateConnector {
  @Field.id('The organization') organization_id: string;

  @Field.choice(
    'Whose it is. organization: agents of all who may use it have it; user: only those who work for the caller',
    OWNERS,
    { example: 'organization' },
  )
  owner: (typeof OWNERS)[number];

  @Field.text('What it is called', name) name: string;

  @Field.text('It begins the names of its tools, and stays; absent: made of the name', {
    ...SLUG,
    optional: true,
  })
  slug?: string;

  @Field.text(
    'The address of the server: https, or a private host that the operator lists. It stays',
    ADDRESS,
  )
  url: string;

  @Field.choice(AUTH, AUTHS, { example: 'oauth' }) auth: Auth;

  @Field.boolean('Each person uses it with an account of their own; for those of organizations', {
    optional: true,
    example: false,
  })
  per_user?: boolean;

  @Field.text('For auth bearer: the token', { min: 1, max: 4096, optional: true, secret: true })
  token?: string;

  @Field.record('For auth headers: the headers, by name', { optional: true, secret: true })
  headers?: Record<string, unknown>;

  @Field.object('For auth oauth: a client that was registered by hand', () => OAuthClientInput, {
    optional: true,
  })
  client?: OAuthClientInput;

  @Field.text('For auth oauth: the issuer that gives access; absent: as the server says', {
    ...ADDRESS,
    example: 'https://auth.example.com',
    optional: true,
  })
  authorization_server?: string;
}

export class ListConnectors extends PageInput {
  @Field.id('Only those of this organization', { optional: true }) organization_id?: string;
  @Field.id('Only those that agents may use in this workspace', { optional: true }) workspace_id?: string;

  @Field.text('Only those whose name, slug or address holds this', {
    max: 200,
    optional: true,
    example: 'linear',
  })
  q?: string;
}

export class UpdateConnector extends ById({ id: 'The connector' }) {
  @Field.text('What it is called', { ...name, optional: true }) name?: string;
  @Field.boolean('Whether agents may use it', { optional: true, example: true }) enabled?: boolean;

  @Field.object('For auth oauth: a client that was registered by hand; null: none', () => OAuthClientInput, {
    optional: true,
    nullable: true,
  })
  client?: OAuthClientInput | null;

  @Field.text('For auth oauth: the issuer that gives access; null: as the server says', {
    ...ADDRESS,
    optional: true,
    nullable: true,
    example: null,
  })
  authorization_server?: string | null;
}

export class RemoteServerView {
  @Field.text('What it calls itself', { example: 'linear' }) name: string;
  @Field.text('What it calls itself for people', { nullable: true, example: 'Linear' }) title: string | null;
  @Field.text('Its version', { example: '1.4.0' }) version: string;
  @Field.text('The revision of the protocol that it speaks', { example: '2026-07-28' }) protocol: string;
}

export class ToolCountsView {
  @Field.integer('Approved, and as they were approved', { example: 12 }) approved: number;
  @Field.integer('Not approved yet', { example: 0 }) new: number;
  @Field.integer('Something else than what was approved', { example: 0 }) changed: number;
  @Field.integer('Approved, and gone', { example: 0 }) removed: number;
  @Field.integer('Blocked', { example: 1 }) blocked: number;
}

export class ConnectorGrantView {
  @Field.id('The workspace') workspace_id: string;

  @Field.text('The tools that agents may use there; null: all that are approved', {
    list: true,
    nullable: true,
    maxItems: 200,
    example: null,
  })
  tools: string[] | null;
}

export class ConnectorView {
  @Field.id('The connector') id: string;
  @Field.id('The organization') organization_id: string;
  @Field.choice('Whose it is', OWNERS) owner: string;
  @Field.text('What it is called', name) name: string;
  @Field.text('It begins the names of its tools', SLUG) slug: string;
  @Field.text('The address of the server', ADDRESS) url: string;
  @Field.choice(AUTH, AUTHS) auth: string;
  @Field.boolean('Each person uses it with an account of their own', { example: false }) per_user: boolean;

  @Field.text('The issuer that gives access; null: as the server says', { nullable: true, example: null })
  authorization_server: string | null;

  @Field.text('The client id that was registered by hand; null: none', { nullable: true, example: null })
  client_id: string | null;

  @Field.choice(
    'How it stands for the caller. needs_auth, needs_reauth: a person has to authorize it; needs_review: its server is authorized by another issuer than before; error: its server could not be reached, or fails',
    CONNECTOR_STATES,
  )
  state: ConnectorState;

  @Field.text('Why, in a sentence', { nullable: true, example: null }) reason: string | null;
  @Field.boolean('Whether agents may use it', { example: true }) enabled: boolean;

  @Field.object('What the server says of itself; null: it was not asked yet', () => RemoteServerView, {
    nullable: true,
  })
  server: RemoteServerView | null;

  @Field.object('How many tools it has of each state', () => ToolCountsView) tools: ToolCountsView;

  @Field.object('Where agents may use it, of the workspaces that the caller sees', () => ConnectorGrantView, {
    list: true,
    maxItems: 1000,
  })
  workspaces: ConnectorGrantView[];

  @Field.time('When the server was asked last', { nullable: true }) checked_at: string | null;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export class ConnectorTestView {
  @Field.boolean('Whether the server answered', { example: true }) ok: boolean;
  @Field.text('Why not, in a sentence', { nullable: true, example: null }) reason: string | null;

  @Field.integer('How long it took to answer, in milliseconds', { nullable: true, example: 120 })
  latency_ms: number | null;

  @Field.object('The connector as it stands now', () => ConnectorView) connector: ConnectorView;
}

export class AuthorizeConnector extends ById({ id: 'The connector' }) {
  @Field.text('For auth bearer: the token', { min: 1, max: 4096, optional: true, secret: true })
  token?: string;

  @Field.record('For auth headers: the headers, by name', { optional: true, secret: true })
  headers?: Record<string, unknown>;

  @Field.text('For auth oauth: the path of this service to go on to afterwards', {
    min: 1,
    max: 1000,
    optional: true,
    example: '/settings',
  })
  return_path?: string;
}

export class ConnectorAuthorizationView {
  @Field.text('Where to send the person; null: nothing is left to do', {
    nullable: true,
    max: 8000,
    example: 'https://atelier.example.com/connections/authorize/0f1e2d',
  })
  authorize_url: string | null;

  @Field.time('Until when', { nullable: true }) expires_at: string | null;
}

export class ConnectorGrantInput {
  @Field.id('The workspace') workspace_id: string;

  @Field.text('The tools that agents may use there; absent: all that are approved', {
    list: true,
    max: 128,
    maxItems: 200,
    optional: true,
    example: ['create_issue'],
  })
  tools?: string[];
}

export class SetConnectorWorkspaces extends ById({ id: 'The connector' }) {
  @Field.object(
    'Where agents may use it: all of the workspaces that the caller sees; those that the caller does not see stay',
    () => ConnectorGrantInput,
    { list: true, maxItems: 200, example: [{ workspace_id: SAMPLE_IDS.workspace_id }] },
  )
  grants: ConnectorGrantInput[];
}

export class ListConnectorTools extends PageInput {
  @Field.id('The connector') id: string;
  @Field.choice('Only those in this state', TOOL_STATES, { optional: true }) state?: ToolState;
}

export class ToolDifferenceView {
  @Field.text('The part of the definition', { example: 'description' }) part: string;
  @Field.json('As it was approved', { nullable: true, example: 'Creates an issue.' }) before: unknown;

  @Field.json('As the server says now', { nullable: true, example: 'Creates an issue or a comment.' })
  after: unknown;
}

export class ConnectorToolView {
  @Field.text('What the server calls it', { example: 'create_issue' }) name: string;
  @Field.text('What models call it', { example: 'mcp__linear__create_issue' }) call_name: string;

  @Field.choice(
    'new: not approved yet; changed: something else than what was approved, so it is not called; removed: approved, and gone; blocked: not to be used',
    TOOL_STATES,
  )
  state: string;

  @Field.choice('What it counts as where it is called; read counts only once it is approved', TOOL_EFFECTS)
  effect: string;

  @Field.choice('What the server says that it does', TOOL_EFFECTS) proposed_effect: string;

  @Field.text('SHA-256 of the definition as the server says now, to be approved by', {
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  })
  hash: string;

  @Field.text('As the server says now. It is data of that server', {
    nullable: true,
    max: 70_000,
    example: 'Create issue',
  })
  title: string | null;

  @Field.text('As the server says now. It is data of that server', {
    nullable: true,
    max: 70_000,
    example: 'Creates an issue.',
  })
  description: string | null;

  @Field.json('What it takes, as JSON Schema', { example: { type: 'object' } }) input_schema: unknown;
  @Field.json('What it answers, as JSON Schema', { nullable: true, example: null }) output_schema: unknown;
  @Field.json('Hints of the server', { nullable: true, example: null }) annotations: unknown;

  @Field.object('Where that differs from what was approved', () => ToolDifferenceView, { list: true })
  differences: ToolDifferenceView[];

  @Field.text('A tool that is gone and took the same input, so that this may be its new name', {
    nullable: true,
    example: null,
  })
  renamed_from: string | null;

  @Field.id('Who approved it', { nullable: true }) approved_by: string | null;
  @Field.time('When', { nullable: true }) approved_at: string | null;
}

export class UnusableToolView {
  @Field.text('What the server calls it', { max: 200, example: 'x' }) name: string;

  @Field.text('Why it cannot be used', { example: 'its definition has more than 65536 bytes' })
  reason: string;
}

export class ServerInstructionsView {
  @Field.text(
    'What the server says to models now. It is data of that server, and never an instruction here',
    {
      nullable: true,
      example: null,
    },
  )
  text: string | null;

  @Field.text('What was approved of it, which agents get as data when they search its tools', {
    nullable: true,
    example: null,
  })
  approved: string | null;

  @Field.text('SHA-256 of the text, to be approved by', { nullable: true, example: null })
  hash: string | null;
}

class ConnectorToolPageBase extends (PageOf(ConnectorToolView, 'ConnectorToolItems') as new () => {
  items: object[];
  next_cursor: string | null;
}) {}

export class ConnectorToolPage extends ConnectorToolPageBase {
  @Field.object('What the server says to models', () => ServerInstructionsView)
  instructions: ServerInstructionsView;

  @Field.object('Tools of the server that cannot be used', () => UnusableToolView, { list: true })
  unusable: UnusableToolView[];
}

export class ApprovedToolInput {
  @Field.text('The tool', { min: 1, max: 128, example: 'create_issue' }) name: string;

  @Field.text('Its hash, as it was looked at', {
    min: 64,
    max: 64,
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  })
  hash: string;
}

export class UpdateConnectorTools extends ById({ id: 'The connector' }) {
  @Field.object('Tools that agents may use from now on, as they are', () => ApprovedToolInput, {
    list: true,
    maxItems: 200,
    optional: true,
    shown: true,
  })
  approve?: ApprovedToolInput[];

  @Field.text('Tools that nobody is to use', {
    list: true,
    max: 128,
    maxItems: 200,
    optional: true,
    example: [],
  })
  block?: string[];

  @Field.record('What tools count as, by name: read, write or destructive; absent: as their server says', {
    optional: true,
    example: {},
  })
  effects?: Record<string, unknown>;

  @Field.text('The hash of the instructions that agents may be given as data', {
    min: 64,
    max: 64,
    optional: true,
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  })
  instructions?: string;
}

export const ConnectorPage = PageOf(ConnectorView, 'ConnectorPage');
