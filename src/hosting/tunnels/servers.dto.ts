import { ById, Field, NAME, PageOf } from '../../platform/dto/index.js';
import { WorkspaceId } from '../../workspaces/core/index.js';
import {
  HOST_HEADERS,
  type HostHeader,
  RESTARTS,
  type Restart,
  SERVER_STATES,
} from './records/server-states.js';

const MEBIBYTE = 1024 * 1024;
/** Options of inputs that null resets, and of outputs that are null by default. */
const NULLABLE = { optional: true, nullable: true } as const;
const NONE = { nullable: true, example: null } as const;
const name = { ...NAME, example: 'Team dashboard' };
const SLUG = {
  min: 1,
  max: 40,
  pattern: /^[a-z0-9](-?[a-z0-9]){0,39}$/,
  patternHint: 'must be lower-case letters, digits and single hyphens between them',
  example: 'dashboard',
};
const COMMAND = {
  min: 1,
  max: 4000,
  pattern: /\S/,
  patternHint: 'must not be blank',
  example: 'node server.js',
};
const FOLDER = { max: 4096, example: 'dashboard' };
const HEALTH_PATH = {
  min: 1,
  max: 1000,
  pattern: /^\/[\x21-\x7e]*$/,
  patternHint: 'must be a path such as /healthz',
  example: '/healthz',
};
const PORT = { min: 1024, max: 65_535, example: 3000 };
const MEMORY = { min: 32 * MEBIBYTE, max: 64 * 1024 * MEBIBYTE, example: 256 * MEBIBYTE };
const SLEEP = { min: 0, max: 31_536_000, example: 1800 };
const COMMAND_IS =
  'Run by a shell in the sandbox, for as long as it goes on; it listens on $PORT, on any address. Nothing else of it is reached';
const ENV =
  'Environment variables, {"name": {"value": "…"}}; null instead of the object removes one. Values are kept sealed and are never shown';
const HEALTH =
  'A path that answers 200 to 399 once it can take requests, looked at every 15 seconds; null: it can as soon as it accepts connections';
const OVERLAP =
  'Whether a changed or restarted server runs beside the one before until it is ready; for programs that bear two of them at once';
const SLEEP_IS =
  'Seconds without requests and open connections after which it is stopped until the next request; 0: never; null: as the installation has it';
const PORT_IS = 'The port that it listens on; null: the one in $PORT, or the only one that it opens';
const INSTALL = { max: 4000, example: null };
const INSTALL_IS =
  'What installs the dependencies before it starts; null: as package.json and the lock file say, where the folder has no node_modules of its own; empty: nothing is installed';
const HOST_HEADER =
  'The Host header that it sees: public (that of the browser) or local (localhost with its port, for programs that refuse others)';
const ACTIONS = 'Actions that its programs may run, on the authority of whoever started it';
const CONNECTIONS =
  'Connections whose credentials its requests get, by provider or name, on the authority of whoever started it';
const RESTART = 'When it is started again after it has ended';

/** Absent settings are null, or the first choice. */
class ServerSettings extends WorkspaceId {
  @Field.text('The folder of the workspace in which the command runs; empty: its root', {
    ...FOLDER,
    optional: true,
  })
  folder?: string;

  @Field.text(INSTALL_IS, { ...INSTALL, ...NULLABLE }) install_command?: string | null;

  @Field.record(ENV, { optional: true, secret: true, example: { NODE_ENV: { value: 'production' } } })
  env?: object;

  @Field.choice(RESTART, RESTARTS, { optional: true, example: 'on_failure' }) restart?: Restart;
  @Field.text(HEALTH, { ...HEALTH_PATH, ...NULLABLE }) health_path?: string | null;
  @Field.boolean(OVERLAP, { optional: true }) overlap?: boolean;
  @Field.integer(SLEEP_IS, { ...SLEEP, ...NULLABLE }) sleep_after_seconds?: number | null;
  @Field.integer(PORT_IS, { ...PORT, ...NULLABLE }) port?: number | null;
  @Field.choice(HOST_HEADER, HOST_HEADERS, { optional: true, example: 'public' }) host_header?: HostHeader;

  @Field.integer('Most memory that it takes, in bytes; null: as the installation has it', {
    ...MEMORY,
    ...NULLABLE,
  })
  memory_bytes?: number | null;

  @Field.text(ACTIONS, { list: true, max: 100, maxItems: 50, example: ['file_read'], optional: true })
  actions?: string[];

  @Field.text(CONNECTIONS, { list: true, min: 1, max: 80, maxItems: 20, example: [], optional: true })
  connections?: string[];
}

export class CreateServer extends ServerSettings {
  @Field.text('What it is called', name) name: string;

  @Field.text('The first part of its host; absent: made of the name', { ...SLUG, optional: true })
  slug?: string;

  @Field.text(COMMAND_IS, COMMAND) command: string;
  @Field.boolean('Whether it is started at once', { optional: true, default: true }) start?: boolean;
}

export class UpdateServer extends ById({ id: 'The server' }) {
  @Field.text('What it is called', { ...name, optional: true }) name?: string;

  @Field.text('The first part of its host. The earlier one is kept for its workspace for 30 days', {
    ...SLUG,
    optional: true,
  })
  slug?: string;

  @Field.text(COMMAND_IS, { ...COMMAND, optional: true }) command?: string;

  @Field.text('The folder of the workspace in which the command runs', { ...FOLDER, optional: true })
  folder?: string;

  @Field.text(INSTALL_IS, { ...INSTALL, ...NULLABLE }) install_command?: string | null;

  @Field.record(`${ENV}. What is not named stays`, {
    optional: true,
    secret: true,
    example: { NODE_ENV: { value: 'production' }, DEBUG: null },
  })
  env?: object;

  @Field.choice(RESTART, RESTARTS, { optional: true, example: 'on_failure' }) restart?: Restart;
  @Field.text(HEALTH, { ...HEALTH_PATH, ...NULLABLE }) health_path?: string | null;
  @Field.boolean(OVERLAP, { optional: true }) overlap?: boolean;
  @Field.integer(SLEEP_IS, { ...SLEEP, ...NULLABLE }) sleep_after_seconds?: number | null;
  @Field.integer(PORT_IS, { ...PORT, ...NULLABLE }) port?: number | null;
  @Field.choice(HOST_HEADER, HOST_HEADERS, { optional: true, example: 'public' }) host_header?: HostHeader;

  @Field.integer('Most memory that it takes, in bytes', { ...MEMORY, ...NULLABLE })
  memory_bytes?: number | null;

  @Field.text(ACTIONS, { list: true, max: 100, maxItems: 50, example: ['file_read'], optional: true })
  actions?: string[];

  @Field.text(CONNECTIONS, { list: true, min: 1, max: 80, maxItems: 20, example: [], optional: true })
  connections?: string[];
}

export class MoveServer extends ById({ id: 'The server' }) {
  @Field.integer('Seconds to wait until it runs, or has stopped', {
    min: 0,
    max: 60,
    optional: true,
    default: 0,
    example: 30,
  })
  wait?: number;
}

export class ServerExitView {
  @Field.integer('Its exit code; null where a signal ended it', { nullable: true, example: 1 })
  code: number | null;

  @Field.text('The signal that ended it', NONE) signal: string | null;
  @Field.text('In a sentence', { example: 'It ended with exit code 1' }) reason: string;
  @Field.time('When') at: string;
}

export class ServerInstanceView {
  @Field.time('When the process was started') started_at: string;
  @Field.time('When it could take requests; null: not yet', { nullable: true }) ready_at: string | null;
  @Field.integer('The port that it listens on', { nullable: true, example: 3000 }) port: number | null;

  @Field.integer('Memory that it takes; null: not measured yet', { nullable: true, example: 48_000_000 })
  memory_bytes: number | null;

  @Field.integer('Processor time that it has taken, in milliseconds', { nullable: true, example: 1200 })
  cpu_ms: number | null;
}

export class ServerView {
  @Field.id('The server') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.text('What it is called', name) name: string;
  @Field.text('The first part of its host', SLUG) slug: string;

  @Field.text('Where it answers; null where the installation has no domain for servers', {
    nullable: true,
    example: 'https://dashboard.servers.example.com',
  })
  url: string | null;

  @Field.text(COMMAND_IS, COMMAND) command: string;
  @Field.text('The folder of the workspace in which the command runs', FOLDER) folder: string;
  @Field.text(INSTALL_IS, { ...INSTALL, nullable: true }) install_command: string | null;

  @Field.text('The names of its environment variables; their values are never shown', {
    list: true,
    example: ['NODE_ENV'],
  })
  env: string[];

  @Field.choice(RESTART, RESTARTS) restart: Restart;
  @Field.text(HEALTH, { nullable: true, example: '/healthz' }) health_path: string | null;
  @Field.boolean(OVERLAP) overlap: boolean;
  @Field.integer(SLEEP_IS, NONE) sleep_after_seconds: number | null;
  @Field.integer(PORT_IS, NONE) port: number | null;
  @Field.choice(HOST_HEADER, HOST_HEADERS) host_header: HostHeader;

  @Field.integer('Most memory that it takes, in bytes; null: as the installation has it', NONE)
  memory_bytes: number | null;

  @Field.text(ACTIONS, { list: true, example: [] }) actions: string[];
  @Field.text(CONNECTIONS, { list: true, example: [] }) connections: string[];

  @Field.choice(
    'stopped; starting; running; crashed: it is started again at next_attempt_at; failed: it crashed too often, and stays as it is; sleeping: the next request starts it',
    SERVER_STATES,
  )
  state: string;

  @Field.text('Why it stands as it does', NONE) reason: string | null;

  @Field.object('The process that runs it; null where none does', () => ServerInstanceView, {
    nullable: true,
  })
  instance: ServerInstanceView | null;

  @Field.integer('How often it was started again since somebody started it', { example: 0 }) restarts: number;
  @Field.time('When it is tried again, with crashed', { nullable: true }) next_attempt_at: string | null;

  @Field.object('How it ended the last time', () => ServerExitView, { nullable: true })
  last_exit: ServerExitView | null;

  @Field.time('About when it had its last request', { nullable: true }) last_request_at: string | null;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export const ServerPage = PageOf(ServerView, 'ServerPage');
