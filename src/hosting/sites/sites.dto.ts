import { ById, Field, NAME, PageOf } from '../../platform/dto/index.js';
import { WorkspaceId } from '../../workspaces/core/index.js';
import { VERSION_STATES } from './records/version-states.js';

/** Options of inputs that null resets, and of outputs that are null by default. */
const NULLABLE = { optional: true, nullable: true } as const;
const NONE = { nullable: true, example: null } as const;
const name = { ...NAME, example: 'Documentation' };
const SLUG = {
  min: 1,
  max: 40,
  pattern: /^[a-z0-9](-?[a-z0-9]){0,39}$/,
  patternHint: 'must be lower-case letters, digits and single hyphens between them',
  example: 'docs',
};
const FOLDER = { max: 4096, example: 'site' };
const COMMAND = { min: 1, max: 1000, example: 'npm run build' };
const NOTE = { max: 500, example: 'New pricing page' };
const REASON = { max: 500, example: 'Audit this week' };
const PRESETS = [
  'static',
  'node',
  'vite',
  'astro',
  'sveltekit',
  'next',
  'nuxt',
  'gatsby',
  'eleventy',
  'docusaurus',
] as const;
const NODE_MEMORY = { min: 128, max: 16_384, example: 1024 };

/** Build settings; null ones are detected. */
class BuildSettings extends WorkspaceId {
  @Field.choice('What kind of project it is; null: found out by its package.json', PRESETS, NULLABLE)
  preset?: string | null;

  @Field.text(
    'Installs what the build needs, with network and without the files; null: as the lock file says',
    { ...COMMAND, example: 'npm ci', ...NULLABLE },
  )
  install_command?: string | null;

  @Field.text('Builds the site, without network; null: the script `build` of package.json, if it has one', {
    ...COMMAND,
    ...NULLABLE,
  })
  build_command?: string | null;

  @Field.text('Where the build leaves the site, relative to the folder; null: as the preset has it', {
    max: 1000,
    example: 'dist',
    ...NULLABLE,
  })
  output_dir?: string | null;

  @Field.boolean(
    'Whether index.html answers for pages that are not there (a single-page application); null: as the preset has it',
    NULLABLE,
  )
  spa?: boolean | null;

  @Field.integer('Heap of Node.js in MiB for the build; null: what Node.js takes', {
    ...NODE_MEMORY,
    ...NULLABLE,
  })
  node_memory?: number | null;
}

export class CreateSite extends BuildSettings {
  @Field.text('What it is called', name) name: string;

  @Field.text('The first part of its host; absent: made of the name', { ...SLUG, optional: true })
  slug?: string;

  @Field.text('The folder of the workspace that it is made of; empty: the whole workspace', FOLDER)
  folder: string;
}

export class UpdateSite extends ById({ id: 'The site' }) {
  @Field.text('What it is called', { ...name, optional: true }) name?: string;

  @Field.text('The first part of its host. The earlier one is kept for its workspace for 30 days', {
    ...SLUG,
    optional: true,
  })
  slug?: string;

  @Field.text('The folder of the workspace that it is made of', { ...FOLDER, optional: true })
  folder?: string;

  @Field.choice('What kind of project it is; null: found out', PRESETS, NULLABLE) preset?: string | null;

  @Field.text('Installs what the build needs', { ...COMMAND, example: 'npm ci', ...NULLABLE })
  install_command?: string | null;

  @Field.text('Builds the site', { ...COMMAND, ...NULLABLE }) build_command?: string | null;

  @Field.text('Where the build leaves the site', { max: 1000, example: 'dist', ...NULLABLE })
  output_dir?: string | null;

  @Field.boolean('Whether index.html answers for pages that are not there', NULLABLE) spa?: boolean | null;

  @Field.integer('Heap of Node.js in MiB for the build', { ...NODE_MEMORY, ...NULLABLE })
  node_memory?: number | null;

  @Field.text('Actions that its viewers may run at /_atelier/actions, on the authority of the caller', {
    list: true,
    max: 100,
    maxItems: 50,
    example: ['file_read'],
    optional: true,
  })
  actions?: string[];

  @Field.boolean('Whether viewers who are not signed in may run them, too', { optional: true })
  actions_public?: boolean;
}

export class LockSite extends ById({ id: 'The site' }) {
  @Field.text('Why, for the others', { ...REASON, optional: true }) reason?: string;
}

export class SiteView {
  @Field.id('The site') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.text('What it is called', name) name: string;
  @Field.text('The first part of its host', SLUG) slug: string;

  @Field.text('Where it is served; null where the installation has no domain for sites', {
    nullable: true,
    example: 'https://docs.sites.example.com',
  })
  url: string | null;

  @Field.text('The folder of the workspace that it is made of', FOLDER) folder: string;
  @Field.text('What kind of project it is; null: found out', NONE) preset: string | null;

  @Field.text('Installs what the build needs; null: as the lock file says', NONE)
  install_command: string | null;

  @Field.text('Builds the site; null: the script build', NONE) build_command: string | null;
  @Field.text('Where the build leaves the site; null: as the preset has it', NONE) output_dir: string | null;

  @Field.boolean('Whether index.html answers for pages that are not there; null: as the preset has it', {
    nullable: true,
  })
  spa: boolean | null;

  @Field.integer('Heap of Node.js in MiB for the build', NONE) node_memory: number | null;
  @Field.text('Actions that its viewers may run', { list: true, example: [] }) actions: string[];
  @Field.boolean('Whether viewers who are not signed in may run them') actions_public: boolean;
  @Field.id('The version that is live; null: none is yet', { nullable: true }) live_version_id: string | null;
  @Field.integer('Its number', { nullable: true, example: 3 }) live_version: number | null;
  @Field.boolean('Whether it is locked: builds go on, and nothing goes live') locked: boolean;
  @Field.text('Why', NONE) lock_reason: string | null;

  @Field.boolean('Whether automatic promotion is paused, as it is after going back to an older version')
  auto_promote_paused: boolean;

  @Field.text('Why', NONE) pause_reason: string | null;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export const SitePage = PageOf(SiteView, 'SitePage');

export class CreateVersion extends ById({ id: 'The site' }) {
  @Field.boolean('Whether it goes live by itself once it is built', { optional: true, default: false })
  auto_promote?: boolean;

  @Field.text('What is new, for the list of versions', { ...NOTE, optional: true }) note?: string;
}

export class ReadVersion extends ById({ id: 'The site', version_id: 'The version' }) {
  @Field.integer('Seconds to wait for the end of its build', {
    min: 0,
    max: 60,
    optional: true,
    default: 0,
    example: 30,
  })
  wait?: number;
}

export class PromoteVersion extends ById({ id: 'The site', version_id: 'The version' }) {
  @Field.boolean(
    'Whether newer versions stop going live by themselves; by default they do where this one is older than what is live',
    { optional: true },
  )
  pause_auto_promote?: boolean;

  @Field.id('Refuse (409) unless this version is live now', { optional: true }) if_live?: string;
}

export class PinVersion extends ById({ id: 'The site', version_id: 'The version' }) {
  @Field.boolean('Whether its files are kept however old it gets') pinned: boolean;
}

export class ReadBuildLog extends ById({ id: 'The site', version_id: 'The version' }) {
  @Field.integer('Only what follows this number', { min: 0, optional: true, example: 120 }) after?: number;
}

export class PromotionView {
  @Field.boolean('Whether it goes live by itself, as things stand, or did') will: boolean;
  @Field.text('Why', { example: 'It goes live as soon as it is built.' }) reason: string;
}

export class BuildProgressView {
  @Field.choice('What the build is at', ['snapshot', 'install', 'build', 'collect']) phase: string;
  @Field.integer('Files that are done', { nullable: true, example: 12 }) done: number | null;
  @Field.integer('Files in all', { nullable: true, example: 40 }) total: number | null;
}

export class SiteFindingView {
  @Field.choice('error: something is left out; warning: it is served, and probably not as meant', [
    'error',
    'warning',
  ])
  level: string;

  @Field.text('The file that it is about', { nullable: true, example: '_redirects' }) file: string | null;
  @Field.integer('The line in it, from 1', { nullable: true, example: 3 }) line: number | null;

  @Field.text('What is wrong', { example: 'The status 999 is none that a redirect can have.' })
  message: string;
}

export const VERSION_VIEW_STATES = [...VERSION_STATES, 'live'] as const;

export class VersionView {
  @Field.id('The version') id: string;
  @Field.id('The site') site_id: string;
  @Field.integer('Its number, from 1', { example: 4 }) number: number;

  @Field.choice(
    'queued, building, then built (it can go live), failed or cancelled; live while it is the one that is served; purged: its files were removed',
    VERSION_VIEW_STATES,
  )
  state: string;

  @Field.text(
    'Where this version is served, whichever is live; null where the installation has no domain for sites',
    { nullable: true, example: 'https://v4--docs.sites.example.com' },
  )
  url: string | null;

  @Field.boolean('Whether it was to go live by itself') auto_promote: boolean;
  @Field.object('Whether it goes live by itself, and why', () => PromotionView) promotion: PromotionView;

  @Field.object('What the build is at; null unless it is under way', () => BuildProgressView, {
    nullable: true,
  })
  progress: BuildProgressView | null;

  @Field.text('What is new', { nullable: true, example: 'New pricing page' }) note: string | null;

  @Field.text('What kind of project it was taken for', { nullable: true, example: 'static' })
  preset: string | null;

  @Field.text('Why it failed or was cancelled', NONE) error: string | null;

  @Field.object('What its author should know', () => SiteFindingView, { list: true })
  findings: SiteFindingView[];

  @Field.integer('Files that it serves', { example: 12 }) files: number;
  @Field.integer('Their bytes', { example: 34567 }) bytes: number;
  @Field.boolean('Whether its files are kept however old it gets') pinned: boolean;
  @Field.id('Who made it') created_by: string;
  @Field.time('When it was asked for') created_at: string;
  @Field.time('When its build began', { nullable: true }) started_at: string | null;
  @Field.time('When its build ended', { nullable: true }) finished_at: string | null;
  @Field.time('When it went live the last time', { nullable: true }) promoted_at: string | null;
}

export const VersionPage = PageOf(VersionView, 'SiteVersionPage');

export class BuildLogLineView {
  @Field.integer('Its number in the log', { example: 7 }) id: number;
  @Field.choice('Where it comes from; system: the service', ['stdout', 'stderr', 'system']) stream: string;
  @Field.text('What was printed', { example: 'vite v7 building for production...' }) text: string;
  @Field.time('When') created_at: string;
}

export class BuildLogView {
  @Field.object('In order', () => BuildLogLineView, { list: true }) lines: BuildLogLineView[];
  @Field.integer('Ask again with this as `after`', { example: 120 }) next: number;
  @Field.boolean('Whether nothing will follow') is_complete: boolean;
}
