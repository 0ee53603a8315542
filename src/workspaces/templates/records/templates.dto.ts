import { ById, Field, NAME, PageInput, PageOf } from '../../../platform/dto/index.js';
import { TEMPLATE_VISIBILITIES, type TemplateVisibility, VERSION_STATES } from './templates.store.js';

const name = { ...NAME, example: 'Support inbox' };
const SLUG = {
  min: 2,
  max: 60,
  pattern: /^[a-z0-9]+(-[a-z0-9]+)*$/,
  patternHint: 'must be lower-case letters and digits, with single dashes between them',
  example: 'support-inbox',
};
const VISIBILITY =
  'Who sees it and makes workspaces of it: workspace_admins (the admins of its workspace), org (every member of its organization but guests), installation (everyone with an account)';

export class PublishTemplate {
  @Field.id('The workspace that it is made of') workspace_id: string;

  @Field.text('What it is called; absent: as template.yaml says, else as the workspace is called', {
    ...name,
    optional: true,
  })
  name?: string;

  @Field.text(
    'Its short name in the organization. A slug that this workspace has published makes a new version; absent: that of its only template, else made of the name',
    { ...SLUG, optional: true },
  )
  slug?: string;

  @Field.choice(`${VISIBILITY}. Absent: as it is, for a new one org`, TEMPLATE_VISIBILITIES, {
    optional: true,
  })
  visibility?: TemplateVisibility;

  @Field.text('Fingerprints of findings that are no secrets', {
    list: true,
    max: 64,
    maxItems: 1000,
    optional: true,
    example: [],
  })
  acknowledge?: string[];
}

export class PublishedTemplateView {
  @Field.id('The template') template_id: string;
  @Field.integer('The version that is being made', { example: 1 }) version: number;
  @Field.id('The operation, to be watched below /api/operations') operation_id: string;
}

export class ListTemplates extends PageInput {
  @Field.id('Only those of this organization', { optional: true }) organization_id?: string;

  @Field.text('Only those whose name, slug or description holds this', {
    max: 200,
    optional: true,
    example: 'inbox',
  })
  q?: string;
}

export class CloneTemplate extends ById({ id: 'The template' }) {
  @Field.text('Name of the new workspace', { ...name, example: 'Support' }) name: string;

  @Field.id("The organization it is to belong to; absent: the credential's, else the caller's first", {
    optional: true,
  })
  organization_id?: string;

  @Field.integer('The version; absent: the newest', { min: 1, max: 1_000_000, optional: true, example: 1 })
  version?: number;

  @Field.record('A value for each parameter of the template', { optional: true })
  parameters?: Record<string, unknown>;
}

export class ClonedTemplateView {
  @Field.id('The new workspace, which only the caller sees until it is complete') workspace_id: string;
  @Field.id('The operation, to be watched below /api/operations') operation_id: string;
  @Field.text('What does not come along', { list: true, example: ['secrets'] }) skipped: string[];

  @Field.text('What to do by hand before it works', { list: true, example: ['Connect github'] })
  next_steps: string[];
}

export class ParameterView {
  @Field.text('Its name', { example: 'team' }) name: string;
  @Field.text('What a person reads', { example: 'Team' }) label: string;
  @Field.choice('What it takes', ['string', 'choice', 'boolean']) type: string;

  @Field.text('The value where none is given; null: one is needed', { nullable: true, example: null })
  default: string | null;

  @Field.text('The values that it takes; empty: any', { list: true, example: [] }) choices: string[];
}

export class TemplateFindingView {
  @Field.text('The file', { example: 'config/app.ts' }) path: string;
  @Field.integer('The line in it, from 1', { example: 12 }) line: number;
  @Field.text('What it looks like', { example: 'github-token' }) rule: string;

  @Field.text('To be acknowledged where it is no secret', { example: '0f1e2d3c4b5a69788796a5b4c3d2e1f0' })
  fingerprint: string;
}

export class TemplateVersionView {
  @Field.integer('Its number, from 1', { example: 1 }) number: number;

  @Field.choice(
    'blocked: it has findings that are not acknowledged, and nothing is made of it',
    VERSION_STATES,
  )
  state: string;

  @Field.integer('Its files', { example: 12 }) files: number;
  @Field.integer('Their bytes', { example: 34567 }) bytes: number;

  @Field.object('What looks like a secret; shown to those who may publish it', () => TemplateFindingView, {
    list: true,
  })
  findings: TemplateFindingView[];

  @Field.text('Paths that do not come along: links, special files, and what people handed in by forms', {
    list: true,
    example: [],
  })
  skipped: string[];

  @Field.id('Who published it; null: it comes with the service', { nullable: true })
  published_by: string | null;

  @Field.time('When') created_at: string;
}

export class TemplateView {
  @Field.id('The template') id: string;

  @Field.id('The organization it belongs to; null: it comes with the service', { nullable: true })
  organization_id: string | null;

  @Field.text('Its short name', SLUG) slug: string;
  @Field.text('What it is called', name) name: string;

  @Field.text('What it is for', { example: 'Answers to customers, drafted by an agent.' })
  description: string;

  @Field.choice(VISIBILITY, TEMPLATE_VISIBILITIES) visibility: string;

  @Field.integer('The newest version that is published; null: none is yet', { nullable: true, example: 1 })
  latest: number | null;

  @Field.object('What the newest version asks for', () => ParameterView, { list: true })
  parameters: ParameterView[];

  @Field.time('When it was made') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export class WholeTemplateView extends TemplateView {
  @Field.object(
    'Newest first; those that are not published are shown to those who may publish it',
    () => TemplateVersionView,
    {
      list: true,
    },
  )
  versions: TemplateVersionView[];
}

export class UpdateTemplate extends ById({ id: 'The template' }) {
  @Field.text('What it is called', { ...name, optional: true }) name?: string;

  @Field.text('What it is for', { max: 1000, optional: true, example: 'Notes of one team' })
  description?: string;

  @Field.choice(VISIBILITY, TEMPLATE_VISIBILITIES, { optional: true }) visibility?: TemplateVisibility;
}

export class ListTemplateFiles extends PageInput {
  @Field.id('The template') id: string;
  @Field.integer('The number of the version', { min: 1, max: 1_000_000, example: 1 }) number: number;
}

export class TemplateFileView {
  @Field.text('Its path', { example: 'README.md' }) path: string;
  @Field.integer('Its bytes', { example: 1234 }) size: number;
}

export class WorkspaceTemplateView {
  @Field.id('The template that the workspace was made of; null: none', { nullable: true })
  template_id: string | null;

  @Field.text('What it is called; null: there is none, it is deleted, or the caller does not see it', {
    nullable: true,
    example: 'Support inbox',
  })
  name: string | null;

  @Field.integer('The version that the workspace was made of; null: none', { nullable: true, example: 1 })
  version: number | null;

  @Field.integer('The newest version; null as the name is', { nullable: true, example: 2 })
  latest: number | null;

  @Field.boolean('There is a newer version', { example: true }) has_newer: boolean;
}

export const TemplateFilePage = PageOf(TemplateFileView, 'TemplateFilePage');
export const TemplatePage = PageOf(TemplateView, 'TemplatePage');
