import { shortName } from '#libs/plain-text/index.js';
import { type FormFacts, formSubmitted, formTroubled } from '../../../publishing/forms/index.js';
import { shareUploaded } from '../../../publishing/share/index.js';
import { templateBlocked, templateFailed, templatePublished } from '../../../workspaces/templates/index.js';
import { BY_STRANGERS } from '../types/notice.js';
import { source } from './notification-source.js';
import type { SourcesStore, TemplateVersion } from './sources.store.js';

/** Whoever shared the form is notified. */
const FORM = {
  load: async (facts: FormFacts) => facts,
  recipients: ({ created_by }: FormFacts) => ({ people: [created_by] }),
  about: ({ id }: FormFacts) => id,
  data: ({ form_id }: FormFacts) => ({ form_id }),
  chain: () => BY_STRANGERS,
};

/** Whoever asked for the publication is notified. */
const TEMPLATE_VERSION = {
  load: ({ version_id }: { version_id: string }, records: SourcesStore) =>
    records.templateVersion(version_id),
  recipients: ({ published_by }: TemplateVersion) => ({ people: [published_by] }),
  about: ({ id }: TemplateVersion) => id,
  data: ({ id, template_id }: TemplateVersion) => ({ template_id, version_id: id }),
  chain: ({ chain }: TemplateVersion) => chain,
};

const nameOf = ({ number, name }: TemplateVersion) =>
  `Version ${number} of the template “${shortName(name)}”`;

/** Templates, forms, and links to folders. */
export const WORKSPACES_SOURCES = {
  'template.published': source({
    ...TEMPLATE_VERSION,
    on: templatePublished,
    title: version => `${nameOf(version)} is published`,
    body: ({ files }) => `It has ${files} files.`,
  }),
  'template.blocked': source({
    ...TEMPLATE_VERSION,
    on: templateBlocked,
    title: version => `${nameOf(version)} is blocked`,
    body: () =>
      'Something in its files looks like a secret. Remove it, or acknowledge each finding, and publish again.',
  }),
  'template.failed': source({
    on: templateFailed,
    load: ({ operation_id }, records) => records.operation(operation_id),
    stillTrue: ({ state }) => state === 'error',
    recipients: ({ actor_id }) => ({ people: [actor_id] }),
    about: ({ id }) => id,
    title: () => 'A template was not published',
    body: ({ error }) => shortName(error ?? '', 500),
    data: ({ id }) => ({ operation_id: id }),
    chain: ({ chain }) => chain,
  }),

  'form.submitted': source({
    ...FORM,
    on: formSubmitted,
    title: (_form, { count, title }) =>
      `${count === 1 ? 'A response' : `${count} responses`} to “${shortName(title)}”`,
    body: (_form, { output }) =>
      `In ${shortName(output, 200)}. Anybody with the link can send one: take care with what it says.`,
  }),
  'form.troubled': source({
    ...FORM,
    on: formTroubled,
    title: ({ title }) => `The form “${shortName(title)}” needs you`,
    body: (_form, { problem }) => shortName(problem, 600),
  }),
  'share.uploaded': source({
    on: shareUploaded,
    load: async facts => facts,
    recipients: ({ created_by }) => ({ people: [created_by] }),
    about: ({ id }) => id,
    title: ({ files }) => `${files === 1 ? 'A file was' : `${files} files were`} uploaded by a link of yours`,
    body: ({ path }) =>
      `They are in ${shortName(path, 200) || 'the workspace'}. Whoever has the link can upload: take care before you open them.`,
    data: ({ share_id }) => ({ share_id }),
    chain: () => BY_STRANGERS,
  }),
};
