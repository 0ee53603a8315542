import { Injectable } from '@nestjs/common';
import { problemOf } from '../../../platform/errors/index.js';
import { SignInsStore } from '../../page-sessions/index.js';
import { loginPage } from '../pages/pages.js';
import { type Interaction, type Step } from './interaction.js';

/** The step in which a person signs in. */
@Injectable()
export class LoginPages {
  constructor(private readonly signIns: SignInsStore) {}

  async show(interaction: Interaction): Promise<Step> {
    return { page: await this.pageOf(interaction, interaction.loginHint) };
  }

  async submit(interaction: Interaction, fields: URLSearchParams): Promise<Step> {
    const email = (fields.get('email') ?? '').slice(0, MAX_CHARACTERS);
    const password = (fields.get('password') ?? '').slice(0, MAX_CHARACTERS + 1);
    try {
      const { accountId, acr } = await this.signIns.open({ email, password }, interaction.from);
      return { location: await interaction.settle({ login: { accountId, acr, remember: true } }) };
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      const page = await this.pageOf(interaction, email, `${problem.detail}.`);
      return { page, status: problem.status === 401 ? 422 : problem.status };
    }
  }

  async switchAccount(interaction: Interaction): Promise<Step> {
    const { signIn } = interaction.signedIn;
    if (!interaction.canRestart) return { page: await this.pageOf(interaction, '') };
    await this.signIns.end(signIn);
    return { location: await interaction.restart() };
  }

  private async pageOf(interaction: Interaction, email: string, problem?: string) {
    const { client } = await interaction.consentRequest();
    return loginPage({ action: interaction.action('login'), csrf: interaction.csrf, client, email, problem });
  }
}

const MAX_CHARACTERS = 256;
