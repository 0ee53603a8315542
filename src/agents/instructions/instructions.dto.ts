import { OrganizationId } from '../../identity/organizations/index.js';
import { Field } from '../../platform/dto/index.js';

/** Longest text, in characters: it goes into every prompt of the organization. */
const MAX_INSTRUCTIONS = 8_000;

const INSTRUCTIONS = {
  max: MAX_INSTRUCTIONS,
  example: 'Write in British English. Never put names of customers into files.',
};

export class SetAgentInstructions extends OrganizationId {
  @Field.text(
    'What its agents are told; it takes the place of what was there, and empty text of all',
    INSTRUCTIONS,
  )
  instructions: string;
}

export class AgentInstructionsView {
  @Field.text('What its agents are told; empty: nothing of its own', INSTRUCTIONS) instructions: string;
  @Field.time('When it was set; null: never', { nullable: true }) updated_at: string | null;
}
