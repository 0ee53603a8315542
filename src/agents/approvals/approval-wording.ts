import { Injectable } from '@nestjs/common';
import { withoutSecrets } from '#libs/fields/index.js';
import { CONNECTOR_TOOL } from '../../connections/connectors/index.js';
import { isWorkspacePermission, roleAllows, WORKSPACE_ROLES } from '../../platform/access/index.js';
import { ActionCatalog } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Toolbox } from '../tools/index.js';
import type { ApprovalRow } from './approval.js';
import type { ApprovalDecidersView } from './approvals.dto.js';

/** The page on which a person decides; below it, by the id of the approval. */
export const APPROVAL_PAGE = '/approvals';

const DECIDING_ROLES = WORKSPACE_ROLES.filter(role => roleAllows(role, 'approval.decide'));

/** A call in the words of the person who decides about it. */
export interface CallWords {
  /** What happens, in a few words that can be asked: `Delete a file or folder`. */
  readonly title: string;
  /** What it does, as a sentence without its full stop. */
  readonly summary: string;
  /** What a person should know before they allow it; null where the summary says it all. */
  readonly consequence: string | null;
}

/** How approvals are worded, everywhere alike: the same words, the same link, and no secrets. */
@Injectable()
export class ApprovalWording {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly toolbox: Toolbox,
    private readonly config: Config,
  ) {}

  /** Where a person decides about it. */
  linkTo(approvalId: string): string {
    return `${this.config.baseUrl}${APPROVAL_PAGE}/${approvalId}`;
  }

  /** Of an action of the catalog, or a tool. */
  of(tool: string): CallWords {
    const action = this.catalog.get(tool);
    if (action) {
      const { summary, consequence = null } = action.declaration;
      return { title: action.declaration.title ?? clauseOf(summary), summary, consequence };
    }
    const [, slug, ...rest] = tool.startsWith(CONNECTOR_TOOL) ? tool.split('__') : [];
    if (slug !== undefined)
      return {
        title: `Call ${rest.join('__')} of the connector ${slug}`,
        summary: `Call the tool ${rest.join('__')} of the connector ${slug}`,
        consequence: null,
      };
    const { title, description } = this.toolbox.find(tool) ?? {};
    const called = `Call the tool ${tool}`;
    return { title: title ?? called, summary: firstSentence(description ?? called), consequence: null };
  }

  /** What a call is made with, without what is secret in it. A run calls an action by a tool that takes its name and its input. */
  inputOf({ subject_kind, tool, input }: Pick<ApprovalRow, 'subject_kind' | 'tool' | 'input'>): unknown {
    const shape = this.catalog.get(tool)?.declaration.input ?? null;
    if (subject_kind === 'mcp_call' || !this.catalog.get(tool)) return withoutSecrets(shape, input);
    const { input: given, ...call } = (input ?? {}) as { input?: unknown };
    const named = withoutSecrets(null, call) as object;
    return given === undefined ? named : { ...named, input: withoutSecrets(shape, given) };
  }

  /** As {@link inputOf}, of an action its own input alone. */
  argumentsOf(row: Pick<ApprovalRow, 'subject_kind' | 'tool' | 'input'>): unknown {
    const input = this.inputOf(row);
    if (row.subject_kind === 'mcp_call' || !this.catalog.get(row.tool)) return input;
    return (input as { input?: unknown }).input ?? {};
  }

  /** Who may decide about it: those with such a role in its workspace, which lets them do the same, or else one person. */
  decidersOf({
    workspace_id,
    requested_by,
    tool,
  }: Pick<ApprovalRow, 'workspace_id' | 'requested_by' | 'tool'>): ApprovalDecidersView {
    if (workspace_id === null) return { workspace_roles: [], person_id: requested_by };
    const permission = this.catalog.get(tool)?.declaration.permission ?? null;
    const may = isWorkspacePermission(permission) ? permission : 'approval.decide';
    return { workspace_roles: DECIDING_ROLES.filter(role => roleAllows(role, may)), person_id: null };
  }
}

/** The summary of an action up to what it says besides. */
const clauseOf = (summary: string): string => /^[^.;:,]*/.exec(summary)?.[0] ?? summary;

const firstSentence = (text: string): string => /^[^.;]*/.exec(text)?.[0] ?? text;
