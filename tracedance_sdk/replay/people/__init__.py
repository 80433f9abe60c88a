"""People of rebuilt tests: what they want, what they know, and who plays them."""

from __future__ import annotations

from tracedance_sdk.replay.people.customers import Customer, RuleCustomer, ScriptedCustomer
from tracedance_sdk.replay.people.decisions import (
    PERSONA_RULES,
    Decision,
    PersonaRule,
    decisions_of,
)
from tracedance_sdk.replay.people.model_customer import ModelCustomer
from tracedance_sdk.replay.people.persona import Persona, persona_of
from tracedance_sdk.replay.people.plugin_customers import CustomerFactory, customer_named
from tracedance_sdk.replay.people.records import Backing

__all__ = [
    "PERSONA_RULES",
    "Backing",
    "Customer",
    "CustomerFactory",
    "Decision",
    "ModelCustomer",
    "Persona",
    "PersonaRule",
    "RuleCustomer",
    "ScriptedCustomer",
    "customer_named",
    "decisions_of",
    "persona_of",
]
