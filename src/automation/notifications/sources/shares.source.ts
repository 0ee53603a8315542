import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { shareUploaded } from '../../../publishing/share/index.js';
import { BY_STRANGERS, Notifier } from '../delivery/index.js';

/** What visitors put into shared folders. The maker of the link is notified. */
@Injectable()
export class SharesSource implements OnModuleInit {
  constructor(private readonly notifier: Notifier) {}

  onModuleInit(): void {
    this.notifier.on(shareUploaded, 'share.uploaded', async facts => {
      const { id, share_id, organization_id, workspace_id, path, created_by, files } = facts;
      return {
        audience: { people: [created_by] },
        organization_id,
        workspace_id,
        about: id,
        title: `${files === 1 ? 'A file was' : `${files} files were`} uploaded by a link of yours`,
        body: `They are in ${shortName(path, 200) || 'the workspace'}. Whoever has the link can upload: take care before you open them.`,
        data: { share_id },
        chain: BY_STRANGERS,
      };
    });
  }
}
