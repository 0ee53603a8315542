import { Injectable, OnModuleInit } from '@nestjs/common';
import { inputSchemaOf } from '#libs/fields/index.js';
import { Field } from '../../platform/dto/index.js';
import { Invalid, problemOf } from '../../platform/errors/index.js';
import {
  type AskedQuestion,
  failed,
  inputOf,
  type ListedTool,
  type OpenTools,
  succeeded,
  type ToolProvider,
  ToolProviders,
  type ToolResult,
} from '../tools/index.js';
import { MAX_CHOICES, NOBODY_ASKED, outcomeText, QuestionChoice } from './question.js';
import { QuestionsStore } from './questions.store.js';

class AskInput {
  @Field.text('What you need to know, as one question that can be answered without the conversation', {
    min: 1,
    max: 2000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'Which database is it to be?',
  })
  question: string;

  @Field.object(
    'What the person can choose, the one you would take first; absent: they write',
    () => QuestionChoice,
    {
      list: true,
      maxItems: MAX_CHOICES,
      optional: true,
    },
  )
  choices?: QuestionChoice[];

  @Field.boolean('Whether several of the choices may be taken', { optional: true, default: false })
  multiple?: boolean;

  @Field.boolean('Whether they may also answer in their own words', { optional: true, default: true })
  allow_text?: boolean;
}

const ASK = 'ask';

const OFFER = {
  name: ASK,
  description:
    'Ask the person you work for a question and wait for the answer. Only for what they alone can decide and what would be ' +
    'costly to undo if you guessed wrong; what the files or a command can tell you, find out yourself. ' +
    'Ask all that you need to know in one step, one call for each question.',
  brief: 'Ask the person you work for, and wait for the answer: one call for each question, all in one step.',
  schema: inputSchemaOf(AskInput),
  told: { question: '', choices: '', 'choices.label': '', 'choices.description': '', multiple: '' },
};

/** The tool by which a model asks the person for whom it works. The run waits meanwhile; see `turns/tool-round.ts`. */
@Injectable()
export class AskTool implements ToolProvider, OnModuleInit {
  readonly kind = 'ask';
  readonly names = [ASK];

  constructor(
    private readonly providers: ToolProviders,
    private readonly questions: QuestionsStore,
  ) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  async list(): Promise<ListedTool[]> {
    return [{ ...OFFER, effect: 'read', reason: null, agentsOnly: true }];
  }

  open({ guide, runId, asksPeople }: Parameters<ToolProvider['open']>[0]): OpenTools {
    return {
      offered: asksPeople && guide.allows(ASK) ? [OFFER] : [],
      questionOf: (_, input) => (guide.allows(ASK) ? questionIn(input) : undefined),
      call: async (_, input, { place }) => this.answered(runId, input, place),
    };
  }

  private async answered(
    runId: string,
    input: unknown,
    { step, position }: { step: number; position: number },
  ): Promise<ToolResult> {
    try {
      read(input);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      return failed(problem.detail);
    }
    const asked = (await this.questions.ofRun(runId)).find(
      question => question.step === step && question.position === position,
    );
    return succeeded(asked ? outcomeText(asked) : NOBODY_ASKED);
  }
}

function read(input: unknown): AskedQuestion {
  const { question, choices = [], multiple = false, allow_text = true } = inputOf(ASK, AskInput, input);
  const labels = choices.map(({ label }) => label.trim());
  const twice = labels.find((label, index) => labels.indexOf(label) !== index);
  if (twice !== undefined) throw new Invalid(`choices: ${twice} comes twice`);
  if (!allow_text && labels.length === 0) throw new Invalid('choices is required where allow_text is false');
  const shown = choices.map(({ label, description }) => ({
    label: label.trim(),
    description: description ?? null,
  }));
  return { question: question.trim(), choices: shown, multiple, allow_text };
}

/** Undefined where the call makes no sense: then its result says why. */
function questionIn(input: unknown): AskedQuestion | undefined {
  try {
    return read(input);
  } catch (error) {
    if (problemOf(error)) return undefined;
    throw error;
  }
}
