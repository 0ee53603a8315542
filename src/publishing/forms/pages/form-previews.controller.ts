import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isNoFile } from '#libs/workspace-fs/index.js';
import { Public } from '../../../platform/access/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { LinkPages, sendSharePage, sendWords } from '../../exposure/index.js';
import { type FormDefinition } from '../file/form-definition.js';
import { FormFiles } from '../file/form-files.js';
import { Previews } from '../links/previews.js';
import { Receiving } from '../receiving/receiving.js';
import { FORM_LINK } from '../records/forms.store.js';
import { donePage, formPage } from './form-page.js';

@Public()
@ApiExcludeController()
@Controller()
export class FormPreviewsController {
  constructor(
    private readonly pages: LinkPages,
    private readonly previews: Previews,
    private readonly folders: WorkspaceFolders,
    private readonly files: FormFiles,
    private readonly receiving: Receiving,
  ) {}

  @Get('/f/preview/:sealed')
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.withForm(request, reply, async (definition, home) =>
      sendSharePage(reply, formPage({ ...shown(definition, home) })),
    );
  }

  @Post('/f/preview/:sealed')
  send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.withForm(request, reply, async (definition, home) => {
      const outcome = await this.receiving.tryOut(definition, request);
      if (outcome.kind !== 'refused') return sendSharePage(reply, donePage(definition, true));
      const mistakes = new Map(outcome.mistakes.map(({ id, message }) => [id, message]));
      const filled = { values: outcome.values, mistakes };
      sendSharePage(reply, formPage({ ...shown(definition, home), filled, status: 422 }));
    });
  }

  private withForm(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (definition: FormDefinition, home: string) => Promise<void>,
  ): Promise<void> {
    return this.pages.answer(FORM_LINK, request, reply, async () => {
      const { sealed } = request.params as { sealed: string };
      const { workspace_id: id, number, path } = this.previews.open(sealed);
      const file = await this.files.read(id, this.folders.open({ id, number }), path).catch(asAbsent);
      if (file.definition) return work(file.definition, `/f/preview/${sealed}`);
      const [first] = file.findings;
      const where = first?.line ? `Line ${first.line}: ` : '';
      sendWords(reply, 422, 'The form has mistakes', `${where}${first?.message ?? 'It cannot be read'}.`);
    });
  }
}

function asAbsent(error: unknown): never {
  throw isNoFile(error) ? new NotFound('No such form') : error;
}

const shown = (definition: FormDefinition, home: string) =>
  ({ definition, home, ticket: '', decoy: 'website', proof: false, isPreview: true }) as const;
