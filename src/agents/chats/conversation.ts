import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { storableText } from '#libs/fields/index.js';
import type { AttachmentPart } from '../attachments/index.js';
import type { MessagePart, MessagesStore, Said, SaidCall } from './messages.store.js';

/** The run for which it is read. */
interface ReadingRun {
  readonly id: string;
  readonly chat_id: string;
  readonly number: string;
}

/** An answer that was written down, as the database has it now. */
interface WrittenAnswer {
  readonly step: number;
  readonly model: string;
  readonly content: MessagePart[];
  readonly calls: readonly { readonly callId: string; readonly tool: string }[];
}

/** The result of a call. */
interface FinishedCall {
  readonly output: string;
  readonly isError: boolean;
  readonly images: readonly AttachmentPart[];
}

/**
 * What was said in a chat up to a run, as its model is given it. It is read once in an attempt: what the attempt itself
 * adds is added here when it is written down, and nothing else adds to it, but messages that are merged into the run.
 */
export class Conversation {
  private known: Said[] | undefined;

  /** `first`: the content of the only message so far, where that is known. */
  constructor(
    private readonly messages: MessagesStore,
    private readonly run: ReadingRun,
    first: MessagePart[] | null = null,
  ) {
    if (first)
      this.known = [{ role: 'user', run_id: run.id, step: null, model: null, content: first, calls: [] }];
  }

  async read(): Promise<readonly Said[]> {
    this.known ??= await this.messages.conversation(this.run.chat_id, this.run.number);
    return this.known;
  }

  answered({ step, model, content, calls }: WrittenAnswer): void {
    const asked = calls.map(({ callId, tool }): SaidCall => {
      return {
        call_id: storableText(callId),
        tool: storableText(tool),
        output: null,
        is_error: false,
        state: 'started',
        images: null,
      };
    });
    this.known?.push({ role: 'assistant', run_id: this.run.id, step, model, content, calls: asked });
  }

  /** Of calls that an earlier attempt asked for nothing is known here: they are read with the rest. */
  finished(
    { step, position }: { step: number; position: number },
    { output, isError, images }: FinishedCall,
  ): void {
    const answer = this.known?.findLast(said => said.step === step && said.run_id === this.run.id);
    const call = answer?.calls[position];
    if (!answer || !call) this.forget();
    else
      answer.calls[position] = {
        ...call,
        output: storableText(output),
        is_error: isError,
        state: 'finished',
        images: images.length > 0 ? [...images] : null,
      };
  }

  /** It is read anew the next time. */
  forget(): void {
    this.known = undefined;
  }
}

/** What a model is asked with. */
export interface ModelInput {
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[];
}
