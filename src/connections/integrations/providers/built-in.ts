import { discord, slack, zoom } from './chats.js';
import { bitbucket, gitlab } from './code-hosts.js';
import { github, githubApp } from './github.js';
import { airtable, apiKey, basic, notion, stripe } from './records.js';
import { dropbox, google, microsoft } from './suites.js';
import { atlassian, linear, sentry } from './trackers.js';

/** The providers that come with the service, as data. They are checked when it starts. */
export const BUILT_IN: readonly object[] = [
  github,
  githubApp,
  gitlab,
  bitbucket,
  slack,
  google,
  microsoft,
  notion,
  linear,
  atlassian,
  stripe,
  sentry,
  airtable,
  discord,
  dropbox,
  zoom,
  apiKey,
  basic,
];
