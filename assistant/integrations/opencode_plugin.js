// Made by `assistant connect opencode`, and taken away by `assistant connect opencode --undo`.
// At a prompt it adds what memory holds on it; what was said is taken over as a session.
import { spawn } from "node:child_process"

const command = __COMMAND__

function ask(event, told, milliseconds) {
  return new Promise((resolve) => {
    const words = command.map((word) => (word === "EVENT" ? event : word))
    const child = spawn(words[0], words.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    let said = ""
    const done = () => resolve(said.trim())
    const timer = setTimeout(() => { child.kill(); said = ""; done() }, milliseconds)
    child.stdout.on("data", (piece) => { said += piece })
    child.stdin.on("error", () => {})
    child.on("error", done)
    child.on("close", () => { clearTimeout(timer); done() })
    child.stdin.end(JSON.stringify(told))
  })
}

function words(parts) {
  return (parts ?? [])
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")
}

export const AssistantMemory = async ({ client, directory }) => {
  async function takeOver(event, id) {
    try {
      const { data } = await client.session.messages({ path: { id } })
      const messages = (data ?? []).map(({ info, parts }) => ({
        role: info.role,
        text: words(parts),
        time: info.time?.created,
      }))
      await ask(event, { session_id: id, messages }, 30000)
    } catch {}
  }
  return {
    "chat.message": async (input, output) => {
      try {
        const prompt = words(output.parts)
        const told = { session_id: input.sessionID, prompt, cwd: directory }
        const text = await ask("prompt", told, 5000)
        const first = output.parts[0]
        if (!text || !first) return
        output.parts.push({ ...first, id: `${first.id}m`, type: "text", text, synthetic: true })
      } catch {}
    },
    "experimental.session.compacting": async (input) => takeOver("compact", input.sessionID),
    event: async ({ event }) => {
      if (event.type === "session.idle") takeOver("stop", event.properties.sessionID)
    },
  }
}
// The end of what `assistant connect opencode` made.
