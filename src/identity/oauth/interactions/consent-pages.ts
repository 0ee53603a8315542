import { Injectable } from '@nestjs/common';
import { ActionCatalog } from '../../../platform/actions/index.js';
import { type ConsentChoice, consentPage, type ShownLevel } from '../pages/consent-page.js';
import { accessWords, exposedWith } from '../scopes/access-words.js';
import { OAuthResources } from '../scopes/oauth-resources.js';
import { ConsentService, IncompleteChoice } from './consent.service.js';
import { type AccessLevel, type Interaction, type Step } from './interaction.js';

const FIRST_CHOICE: ConsentChoice = { level: 'all', reach: 'all', workspaceIds: [] };

/** The step in which a person says what an application may do. */
@Injectable()
export class ConsentPages {
  constructor(
    private readonly consent: ConsentService,
    private readonly resources: OAuthResources,
    private readonly catalog: ActionCatalog,
  ) {}

  async show(
    interaction: Interaction,
    choice = FIRST_CHOICE,
    problem?: string,
    doubt = false,
  ): Promise<Step> {
    const request = await interaction.consentRequest();
    const { accountId, signIn } = interaction.signedIn;
    const person = await this.consent.personOf(accountId, signIn);
    const page = consentPage({
      action: interaction.action('consent'),
      switchAction: interaction.canRestart ? interaction.action('switch') : undefined,
      csrf: interaction.csrf,
      client: request.client,
      email: person.email ?? person.name,
      resources: request.resources.map(resource => this.nameOf(resource)),
      levels: this.shown(request.levels),
      groups: await this.consent.choicesOf(person),
      choice,
      problem,
      doubt,
    });
    return { page, status: problem ? 422 : 200 };
  }

  async submit(interaction: Interaction, fields: URLSearchParams): Promise<Step> {
    if (fields.get('decision') !== 'allow') {
      const error_description = 'The person declined';
      return { location: await interaction.settle({ error: 'access_denied', error_description }) };
    }
    const choice = {
      level: fields.get('level') ?? '',
      reach: fields.get('reach') ?? '',
      workspaceIds: fields.getAll('workspace'),
    };
    // Without scripts, ticking a workspace does not take the choice of all of them back.
    if (choice.reach === 'all' && choice.workspaceIds.length > 0 && fields.get('sure') !== 'yes')
      return this.show(
        interaction,
        choice,
        'You ticked workspaces, and chose all of them. Which is it?',
        true,
      );
    const { accountId, signIn } = interaction.signedIn;
    const person = await this.consent.personOf(accountId, signIn);
    try {
      const request = await interaction.consentRequest();
      const grantId = await this.consent.allow(interaction.provider, person, request, choice);
      return { location: await interaction.settle({ consent: { grantId } }) };
    } catch (error) {
      if (error instanceof IncompleteChoice) return this.show(interaction, choice, error.message);
      throw error;
    }
  }

  /** The first level in full; of a lesser one, how it differs. */
  private shown([first, ...lesser]: AccessLevel[]): ShownLevel[] {
    if (!first) return [];
    const hint = 'Only what stands under Look. It changes nothing.';
    return [
      { value: first.value, ...accessWords(first.scopes, exposedWith(this.catalog, first.scopes)) },
      ...lesser.map(({ value }) => ({ value, title: 'Only look', hint, groups: [] })),
    ];
  }

  private nameOf(resource: string): string {
    return resource === this.resources.api ? `The whole API (${resource})` : `Tools and files (${resource})`;
  }
}
