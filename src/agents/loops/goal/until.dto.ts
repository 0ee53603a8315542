import { Field } from '../../../platform/dto/index.js';
import { LANGUAGES, type Language } from '../../../workspaces/sandboxes/index.js';
import { MODEL } from '../../models/index.js';

export class CheckInput {
  @Field.choice('What runs it: bash, Python or Node.js', LANGUAGES, { example: 'bash' }) run: Language;

  @Field.text('The script, a file of the workspace; its bytes are kept as they are now', {
    min: 1,
    max: 4096,
    optional: true,
    example: 'checks/report.sh',
  })
  file?: string;

  @Field.text('The script itself, instead of file', {
    min: 1,
    max: 262_144,
    optional: true,
    example: 'test -s report.md',
  })
  code?: string;
}

/** What must hold for a loop to be satisfied; all that is given. */
export class UntilInput {
  @Field.object(
    'A script that ends with exit code 0; it sees the files and cannot change them, without a network, for 120 seconds',
    () => CheckInput,
    { optional: true, shown: true },
  )
  check?: CheckInput;

  @Field.json('JSON Schema that the last message of the agent must be valid against', {
    optional: true,
    example: { type: 'object', required: ['cities'] },
  })
  schema?: unknown;

  @Field.text('What an independent grader looks for; each point of a list is a criterion of its own', {
    min: 1,
    max: 16_384,
    pattern: /\S/,
    patternHint: 'must not be blank',
    optional: true,
    example: '- names each city with its country\n- is shorter than a page',
  })
  rubric?: string;

  @Field.text("The grader's model; absent: that of the loop", { ...MODEL, optional: true })
  grader_model?: string;
}
