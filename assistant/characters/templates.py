"""What chat templates put between messages, by the family of models that reads it so.

After the `chat_template` and the special tokens in each family's tokenizer configuration, and the
markup of calls that they were trained on. Whatever begins with `<|` is taken for one unlisted.
"""

MARKS: dict[str, tuple[str, ...]] = {
    "llama 2, mistral": (
        *("<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
        *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[/TOOL_CALLS]"),
        *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[/TOOL_CONTENT]"),
        *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]"),
        *("[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]", "[IMG_BREAK]", "[IMG_END]"),
        *("<PRE>", "<MID>", "<SUF>", "<EOT>"),
    ),
    "llama 3": ("<|begin_of_text|>", "<|start_header_id|>", "<|eot_id|>", "<|python_tag|>"),
    "chatml, qwen, yi": (
        *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>"),
        *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
        *("<function=", "<parameter="),
    ),
    "claude": (
        *("<function_calls>", "</function_calls>", "<function_results>", "</function_results>"),
        *("<antml:", "</antml:", "<invoke name=", "</invoke>", "<parameter name="),
        *("<system-reminder>", "</system-reminder>"),
    ),
    "gemma": (
        *("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>"),
        *("<start_function_call>", "<end_function_call>", "<start_function_response>"),
        *("<end_function_response>", "<start_function_declaration>", "<|turn>", "<turn|>"),
        *("<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<tool_response|>"),
    ),
    "gpt": ("<|start|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>", "<|end|>"),
    "deepseek": (
        *("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
        *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜DSML｜"),
        *("<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>"),
    ),
    "glm": (
        *("[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|observation|>", "<arg_key>", "</arg_key>"),
        *("<arg_value>", "</arg_value>"),
    ),
    "phi, zephyr": ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"),
    "command": (
        *("<BOS_TOKEN>", "<EOS_TOKEN>", "<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"),
        "<|START_THINKING|>",
    ),
    "granite": ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
    "kimi": ("<|im_middle|>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    "minimax": (
        *("]~!b[", "]~b]", "[e~[", "<minimax:tool_call>", "</minimax:tool_call>"),
        *("<beginning_of_sentence>", "<end_of_sentence>"),
    ),
    "nemotron": ("<extra_id_0>", "<extra_id_1>", "<TOOLCALL>", "</TOOLCALL>", "<SPECIAL_10>"),
    "seed": ("<seed:think>", "</seed:think>", "<seed:tool_call>", "</seed:tool_call>"),
    "internlm, baichuan": (
        "<reserved_106>",
        "<reserved_107>",
        "<eoh>",
        "<eoa>",
        "<TOKENS_UNUSED_1>",
    ),
    "hunyuan, longcat": (
        *("<longcat_user>", "<longcat_assistant>", "<longcat_system>"),
        *("</longcat_s>", "<longcat_tool_call>", "</longcat_tool_call>"),
    ),
    "fill in the middle": ("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>"),
    "orca, functionary": ("<|from|>", "<|recipient|>", "<|content|>", "<|stop|>"),
}
MARKUP = (
    "<tools>",
    "<thinking>",
    "<reasoning>",
    "<answer>",
    "<role>",
    "<observation>",
    "<pad>",
    "<unk>",
)
"""What models were trained to read as their own hand, and other texts are full of, too."""
