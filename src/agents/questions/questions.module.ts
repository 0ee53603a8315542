import { Module } from '@nestjs/common';
import { PageSessionsModule } from '../../identity/page-sessions/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { ChatsModule } from '../chats/index.js';
import { ToolsModule } from '../tools/index.js';
import { AskTool } from './ask.tool.js';
import { QuestionPageController } from './question-page.controller.js';
import { QuestionDeadlines, QuestionsService, QuestionViews } from './questions.service.js';
import { QuestionsStore } from './questions.store.js';

/** What agents ask the people for whom they work. */
@Module({
  imports: [PageSessionsModule, CoreModule, ChatsModule, ToolsModule],
  controllers: [RoutesOf(QuestionsService), QuestionPageController],
  providers: [AskTool, QuestionDeadlines, QuestionsService, QuestionsStore, QuestionViews],
  exports: [QuestionsService, QuestionsStore, QuestionViews],
})
export class QuestionsModule {}
