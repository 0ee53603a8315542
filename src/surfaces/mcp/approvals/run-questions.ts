import { type InputRequest, inputRequired } from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { plainLine } from '#libs/plain-text/index.js';
import { type OpenQuestionView, QuestionsService } from '../../../agents/questions/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import type { Dialogue, McpCall } from '../call/mcp-call.js';
import type { OutputQuestions, ToolAnswer } from '../call/mcp-tool.js';
import { canFillForm } from './approvals.js';

/** Under this name the client is asked, and answers. */
const QUESTION = 'question';

/**
 * What a run asks is put to the person behind a client that can ask, when it looks how its run stands. Others have the
 * question and its link in what they are given.
 */
@Injectable()
export class RunQuestions implements OutputQuestions {
  constructor(private readonly questions: QuestionsService) {}

  /** Who did not want to answer is not asked again by the same call. */
  canAsk(dialogue: Dialogue): boolean {
    return canFillForm(dialogue) && dialogue.answers[QUESTION] === undefined;
  }

  async take({ actor }: McpCall, dialogue: Dialogue): Promise<void> {
    const brought = dialogue.answers[QUESTION];
    const asked = brought === undefined ? undefined : dialogue.memory<{ question?: string }>()?.question;
    if (asked === undefined) return;
    const { action, content } = brought as { action?: unknown; content?: Content };
    if (action !== 'accept') return;
    const { choice, text } = content ?? {};
    const choices = Array.isArray(choice) ? choice.map(String) : choice ? [String(choice)] : [];
    const given = { choices, text: typeof text === 'string' ? text : undefined };
    try {
      await this.questions.answer(actor, { question_id: asked, ...given });
    } catch (error) {
      // Somebody was faster; the run goes on with that answer.
      if (!(error instanceof Conflict)) throw error;
    }
  }

  async ask(
    { actor }: McpCall,
    output: Record<string, unknown>,
    dialogue: Dialogue,
  ): Promise<ToolAnswer | undefined> {
    if (!this.canAsk(dialogue)) return undefined;
    const open = (output.questions as OpenQuestionView[] | null | undefined)?.find(
      ({ asked_of }) => asked_of === actor.id,
    );
    if (!open) return undefined;
    return inputRequired({
      inputRequests: { [QUESTION]: formOf(open) },
      requestState: await dialogue.remember({ question: open.id }),
    });
  }
}

interface Content {
  readonly choice?: unknown;
  readonly text?: unknown;
}

function formOf({ question, choices, multiple, allow_text }: OpenQuestionView): InputRequest {
  const labels = choices.map(({ label }) => label);
  const told = choices.map(({ label, description }) =>
    description ? `${plainLine(label)}: ${plainLine(description)}` : plainLine(label),
  );
  const choice = multiple
    ? { type: 'array' as const, title: 'Choices', items: { type: 'string' as const, enum: labels } }
    : { type: 'string' as const, title: 'Choice', enum: labels };
  const text = {
    type: 'string' as const,
    title: labels.length > 0 ? 'In your own words' : 'Your answer',
    maxLength: 10_000,
  };
  const properties = { ...(labels.length > 0 ? { choice } : {}), ...(allow_text ? { text } : {}) };
  const only = Object.keys(properties);
  return inputRequired.elicit({
    message: [plainLine(question), ...told].join('\n'),
    requestedSchema: { type: 'object', properties, required: only.length === 1 ? only : [] },
  });
}
