/** The topic that is signalled when a chat in which nothing was in flight has a run again, or is gone. */
export const chatTopic = (chatId: string): string => `chat:${chatId}`;
