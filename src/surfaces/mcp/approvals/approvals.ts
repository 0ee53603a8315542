import { type InputRequest, inputRequired } from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { plainJson } from '#libs/plain-text/index.js';
import {
  ApprovalRequests,
  type ApprovalRow,
  ApprovalWording,
  type CallToApprove,
} from '../../../agents/approvals/index.js';
import type { Effect } from '../../../platform/access/index.js';
import {
  type CatalogAction,
  type CheckedCall,
  consequenceOf,
  declarationFor,
} from '../../../platform/actions/index.js';
import { Config } from '../../../platform/config/index.js';
import { Forbidden } from '../../../platform/errors/index.js';
import type { Dialogue, McpCall } from '../call/mcp-call.js';
import { refused, type ToolAnswer } from '../call/mcp-tool.js';
import { ClientNames } from './client-names.store.js';

/** Why a person is asked. */
const WHY: Partial<Record<Effect, string>> = {
  destructive: 'is destructive',
  expose: 'opens something to others or grants rights',
};

/** Under this name the client is asked, and answers. */
const QUESTION = 'approval';
/** How long a person has to decide, and the client to call again. */
const LIFE_SECONDS = 15 * 60;

/** Asks the person behind a client before it destroys or exposes something: in the client where it can ask, else by a link. */
@Injectable()
export class Approvals {
  constructor(
    private readonly requests: ApprovalRequests,
    private readonly names: ClientNames,
    private readonly wording: ApprovalWording,
    private readonly config: Config,
  ) {}

  /** Undefined once the person has allowed exactly this, for this one time; else what the client is answered. */
  async ask(
    call: McpCall,
    { action, input, tenant }: CheckedCall,
    dialogue: Dialogue,
  ): Promise<ToolAnswer | undefined> {
    const asked: CallToApprove = {
      actor: call.actor,
      organizationId: tenant.organization_id,
      // Not for the editors of the workspace to decide: it is done on the authority of one person.
      workspaceId: null,
      tool: action.name,
      effect: declarationFor(action.declaration, input).effect,
      input,
      clientName: await this.names.of(call.actor, dialogue.clientName),
      seconds: LIFE_SECONDS,
    };
    const question = await this.requests.request(asked);
    const { status } = await this.decisionOf(call, question, dialogue);
    if (status === 'pending') return this.put(action, question, dialogue);
    if (status !== 'allowed') {
      await this.requests.toldDenied(question.id);
      throw new Forbidden(
        `The person you work for said no to ${action.name}; call it again only if they want it, and they are asked again`,
      );
    }
    await this.requests.use(question.id, asked);
    return undefined;
  }

  /** How the question stands, with what the client brings back from its person. */
  private async decisionOf(
    { actor, signal }: McpCall,
    question: ApprovalRow,
    dialogue: Dialogue,
  ): Promise<Pick<ApprovalRow, 'status'>> {
    const answer = dialogue.answers[QUESTION];
    const isAbout = dialogue.memory<{ approval: string }>()?.approval === question.id;
    if (answer === undefined || !isAbout || question.status !== 'pending') return question;
    const { action, content } = answer as { action?: unknown; content?: { allow?: unknown } };
    if (action === 'cancel')
      throw new Forbidden('The person you work for did not say whether it may be done');
    if (action === 'accept' && !canFillForm(dialogue)) {
      // They went to the page; what they say there counts.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(this.config.mcpWaitSeconds * 1000)]);
      return this.requests.awaitDecision(actor, question.id, limit);
    }
    if (action === 'accept' && typeof content?.allow !== 'boolean') return question;
    const said = action === 'accept' && content?.allow === true ? 'allowed' : 'denied';
    await this.requests.resolve(question.id, said, actor);
    return (await this.requests.find(question.id)) ?? question;
  }

  private async put(action: CatalogAction, question: ApprovalRow, dialogue: Dialogue): Promise<ToolAnswer> {
    const link = this.wording.linkTo(question.id);
    const wasSent = dialogue.answers[QUESTION] !== undefined && !canFillForm(dialogue);
    if (!dialogue.capabilities.elicitation || wasSent)
      return refused(
        `${action.name} ${WHY[action.declaration.effect]}, so a person has to allow it: ask them to open ${link}, then call again with the same input`,
      );
    return inputRequired({
      inputRequests: {
        [QUESTION]: canFillForm(dialogue) ? formOf(action, question) : pageOf(action, link),
      },
      requestState: await dialogue.remember({ approval: question.id }),
    });
  }
}

/** A client that can ask at all can do it by forms, unless it says that it knows pages only (2025-11-25, elicitation). */
export const canFillForm = ({ capabilities: { elicitation } }: Dialogue): boolean =>
  elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);

function formOf(action: CatalogAction, { client_name, input }: ApprovalRow): InputRequest {
  const { title, declaration } = action;
  const message = `${title}? ${declaration.summary}. ${consequenceOf(declaration)}\n${client_name} asks for it, with ${plainJson(input, 0)}`;
  const allow = { type: 'boolean' as const, title: 'Do it, this once', default: false };
  return inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { allow }, required: ['allow'] },
  });
}

const pageOf = (action: CatalogAction, url: string): InputRequest =>
  inputRequired.elicitUrl({
    message: `${action.title}: look at what is to be done, and say whether it may. ${consequenceOf(action.declaration)}`,
    url,
  });
