import { AccountsSource } from './accounts.source.js';
import { ApprovalsSource } from './approvals.source.js';
import { AutomationsSource } from './automations.source.js';
import { BudgetsSource } from './budgets.source.js';
import { ConnectionsSource } from './connections.source.js';
import { ConnectorsSource } from './connectors.source.js';
import { DomainsSource } from './domains.source.js';
import { FormsSource } from './forms.source.js';
import { GitSource } from './git.source.js';
import { InvitationsSource } from './invitations.source.js';
import { LoopsSource } from './loops.source.js';
import { QuestionsSource } from './questions.source.js';
import { RunsSource } from './runs.source.js';
import { ServersSource } from './servers.source.js';
import { SharesSource } from './shares.source.js';
import { SitesSource } from './sites.source.js';
import { SourcesStore } from './sources.store.js';
import { TemplatesSource } from './templates.source.js';

/** What people are notified of. */
export const sources = [
  AccountsSource,
  ApprovalsSource,
  AutomationsSource,
  BudgetsSource,
  ConnectorsSource,
  ConnectionsSource,
  DomainsSource,
  FormsSource,
  GitSource,
  InvitationsSource,
  LoopsSource,
  QuestionsSource,
  RunsSource,
  ServersSource,
  SharesSource,
  SitesSource,
  TemplatesSource,
  SourcesStore,
];
