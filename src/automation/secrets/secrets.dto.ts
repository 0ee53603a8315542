import { Field, PageOf } from '../../platform/dto/index.js';
import { WorkspaceId } from '../../workspaces/core/index.js';
import { SECRET_NAME } from './secret-names.js';

const NAME = {
  min: 1,
  max: 64,
  pattern: SECRET_NAME,
  patternHint: 'must be capital letters, digits and underscores, and begin with a letter',
  example: 'API_TOKEN',
};

export class SecretName extends WorkspaceId {
  @Field.text('The name of the secret, which is the environment variable that scripts find it in', {
    min: 1,
    max: 100,
    example: 'API_TOKEN',
  })
  name: string;
}

export class SetSecret extends SecretName {
  @Field.text('Its value, which is kept sealed and is never shown again', {
    min: 4,
    max: 32_768,
    secret: true,
    example: 'sk-example-0123456789',
  })
  value: string;
}

export class SecretView {
  @Field.text('Its name', NAME) name: string;
  @Field.time('When it was first set') created_at: string;
  @Field.time('When its value was last set') updated_at: string;
}

export class DeletedSecretView {
  @Field.text('The name of what was deleted', NAME) name: string;
  @Field.boolean('Always true') deleted: true;
}

export const SecretPage = PageOf(SecretView, 'WorkspaceSecretPage');
