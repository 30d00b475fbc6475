import { createInterface } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';

const AGREEMENTS = ['y', 'yes'];

/** The input and the output of the process, or streams that behave like them. */
export interface Terminal {
  readonly input: Pick<ReadStream, 'isTTY'> & NodeJS.ReadableStream;
  readonly output: Pick<WriteStream, 'isTTY'> & NodeJS.WritableStream;
}

/** Returns whether the user answers yes. Without a terminal, or if the input closes, the answer is no. */
export async function isAgreed(question: string, { input, output }: Terminal): Promise<boolean> {
  if (!input.isTTY || !output.isTTY) return false;
  const dialogue = createInterface({ input, output });
  const closing = new AbortController();
  dialogue.once('close', () => closing.abort()); // if the input ends, `question` would otherwise wait for ever
  try {
    const answer = await dialogue.question(question, { signal: closing.signal });
    return AGREEMENTS.includes(answer.trim().toLowerCase());
  } catch (error) {
    if (closing.signal.aborted) return false;
    throw error;
  } finally {
    dialogue.close();
  }
}
