import type { Talk } from "../talk.ts";
import { tell } from "../tell.ts";
import { editorCommand, editText } from "../text-editor.ts";
import type { ChatCommand } from "./command.ts";
import { noQuestion } from "./undo.ts";

export const edit: ChatCommand = {
  name: "edit",
  usage: "[TEXT]",
  summary: "change the last question (TEXT, $EDITOR, or in the line)",
  async run(talk, argument) {
    const question = talk.unanswered ?? talk.conversation.last?.question;
    if (question === undefined) return tell(noQuestion(talk));
    const text = argument === "" ? await ask(talk, question) : argument;
    if (text === undefined || text.trim() === "") return tell("(not changed)");
    if (talk.unanswered === undefined) talk.conversation.undo();
    if (argument === "") talk.input?.remember(text);
    await talk.ask(text);
  },
};

/** Let the user change the question; undefined where it is to stay as it is. */
async function ask({ input }: Talk, question: string): Promise<string | undefined> {
  const editor = editorCommand();
  if (input?.interactive && editor !== undefined) {
    const text = await input.lend(() => editText(editor, question));
    if (text !== undefined && text.trim() !== "") input.echo(text);
    return text;
  }
  if (input?.canEdit) {
    const text = await input.next("> ", { text: question, optional: true });
    return typeof text === "string" ? text : undefined;
  }
  tell("It can only be changed in a terminal; or say what it should be: /edit TEXT.");
  return undefined;
}
