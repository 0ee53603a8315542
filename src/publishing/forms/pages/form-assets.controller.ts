import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../../platform/access/index.js';
import { sendNotice } from '../../exposure/index.js';

const folder = path.join(path.dirname(createRequire(import.meta.url).resolve('altcha/altcha.css')), '..');
const packaged = (file: string): Buffer => readFileSync(path.join(folder, file));

const PROOF = `import './altcha.js';
globalThis.$altcha.algorithms.set('PBKDF2/SHA-256', () => new Worker('/f/_/worker.js', { type: 'module' }));
`;

const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The widget of ALTCHA, whose scripts lie in files of their own for a strict content security policy. */
const ASSETS: Readonly<Record<string, { type: string; bytes: Buffer }>> = {
  'proof.js': { type: JAVASCRIPT, bytes: Buffer.from(PROOF) },
  'altcha.js': { type: JAVASCRIPT, bytes: packaged('external/altcha.min.js') },
  'worker.js': { type: JAVASCRIPT, bytes: packaged('workers/pbkdf2.js') },
  'altcha.css': { type: 'text/css; charset=utf-8', bytes: packaged('external/altcha.css') },
};

@Public()
@ApiExcludeController()
@Controller()
export class FormAssetsController {
  @Get('/f/_/:name')
  asset(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const { name } = request.params as { name: string };
    const asset = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
    if (!asset) sendNotice(reply, 'nowhere');
    else
      void reply
        .headers({ 'content-type': asset.type, 'cache-control': 'public, max-age=3600' })
        .send(asset.bytes);
  }
}
