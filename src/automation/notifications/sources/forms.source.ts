import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { type FormFacts, formSubmitted, formTroubled } from '../../../publishing/forms/index.js';
import { BY_STRANGERS, type Notice, Notifier } from '../delivery/index.js';

const MAX_PROBLEM = 600;

/** Responses to forms, and what keeps forms from working. Who shared the form is notified. */
@Injectable()
export class FormsSource implements OnModuleInit {
  constructor(private readonly notifier: Notifier) {}

  onModuleInit(): void {
    this.notifier.on(formSubmitted, 'form.submitted', async facts => ({
      ...about(facts),
      title: `${facts.count === 1 ? 'A response' : `${facts.count} responses`} to “${shortName(facts.title)}”`,
      body: `In ${shortName(facts.output, 200)}. Anybody with the link can send one: take care with what it says.`,
    }));
    this.notifier.on(formTroubled, 'form.troubled', async facts => ({
      ...about(facts),
      title: `The form “${shortName(facts.title)}” needs you`,
      body: shortName(facts.problem, MAX_PROBLEM),
    }));
  }
}

const about = ({
  id,
  form_id,
  organization_id,
  workspace_id,
  created_by,
}: FormFacts): Omit<Notice, 'title' | 'body'> => ({
  audience: { people: [created_by] },
  organization_id,
  workspace_id,
  about: id,
  data: { form_id },
  chain: BY_STRANGERS,
});
