import { Injectable } from '@nestjs/common';
import { problemOf } from '../../../platform/errors/index.js';
import { SignIns } from '../../page-sessions/index.js';
import { loginPage } from '../pages/login-page.js';
import type { Step } from './interaction.controller.js';
import type { Interaction } from './interaction.js';

const MOST_CHARACTERS = 256;

/** The step in which a person signs in. */
@Injectable()
export class LoginPages {
  constructor(private readonly signIns: SignIns) {}

  async show(interaction: Interaction): Promise<Step> {
    return { page: await this.pageOf(interaction, interaction.loginHint) };
  }

  async submit(interaction: Interaction, fields: URLSearchParams): Promise<Step> {
    const email = (fields.get('email') ?? '').slice(0, MOST_CHARACTERS);
    const password = (fields.get('password') ?? '').slice(0, MOST_CHARACTERS + 1);
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
