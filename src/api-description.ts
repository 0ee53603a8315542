import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { AppModule } from './app.module.js';
import { Config } from './platform/config/index.js';
import { createLog, NestLog } from './platform/log/index.js';
import { describeApi } from './platform/openapi/index.js';

/** The interface description of the service, made without a database: nothing is instantiated. */
export async function apiDescription(): Promise<OpenAPIObject> {
  const config = Config.from({ LOG_LEVEL: 'silent' });
  const log = createLog(config);
  const module = AppModule.with({
    config,
    log,
    database: { connectionString: 'postgresql://localhost/none' },
  });
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), {
    preview: true,
    logger: new NestLog(log),
    abortOnError: false,
  });
  return describeApi(app);
}
