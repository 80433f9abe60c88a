"""What writes do to the airline's database: the tools of tau-bench, as far as they change records.

Only writes are here. Reads change nothing, and a grader that compares final states needs no more.
The recorded answers of 200 conversations say whether it is the same (see the tests of
faithfulness).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

Record = dict[str, Any]
CREATED: Final = "2024-05-15T15:00:00"


@cache
def shipped(folder: Path) -> dict[str, dict[str, Record]]:
    """Return the initial database; it is shared, so it must not be changed."""
    return {
        table: json.loads(gzip.decompress((folder / f"{table}.json.gz").read_bytes()))
        for table in ("flights", "reservations", "users")
    }


class Refused(Exception):
    """The real tool answers with an error; nothing is changed."""


class Airline:
    """A database of its own: records are copied when they are first written to.

    Attributes:
        changed: Records that were written to, by table and id.
    """

    def __init__(self, folder: Path) -> None:
        self._base = shipped(folder)
        self.changed: dict[tuple[str, str], Record] = {}

    def call(self, name: str, arguments: Record) -> str | None:
        """Carry out a call and return what the real tool answers; None for tools that only read."""
        tool = WRITES.get(name)
        if tool is None:
            return None
        before = deepcopy(self.changed)
        try:
            return tool(self, **arguments)
        except Refused as refused:
            self.changed = before
            return f"Error: {refused}"
        except Exception as error:  # noqa: BLE001 - as the environment does
            return f"Error: {error}"

    def has(self, table: str, identity: str) -> bool:
        return (table, identity) in self.changed or identity in self._base[table]

    def read(self, table: str, identity: str, otherwise: str) -> Record:
        if not self.has(table, identity):
            raise Refused(otherwise)
        return self.changed.get((table, identity)) or self._base[table][identity]

    def write(self, table: str, identity: str, otherwise: str = "not found") -> Record:
        """Return a record that may be changed."""
        record = self.read(table, identity, otherwise)
        return self.changed.setdefault((table, identity), deepcopy(record))


def book(  # noqa: PLR0917 - the tool's own arguments
    db: Airline,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: str,
    cabin: str,
    flights: list[Record],
    passengers: list[Record],
    payment_methods: list[Record],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: str,
) -> str:
    user = db.read("users", user_id, "user not found")
    number = next(x for x in ("HATHAT", "HATHAU", "HATHAV") if not db.has("reservations", x))
    flights = [priced(db, flight, cabin, len(passengers)) for flight in flights]
    price = sum(flight["price"] for flight in flights) * len(passengers)
    price += 30 * len(passengers) if insurance == "yes" else 0
    price += 50 * nonfree_baggages
    for payment in payment_methods:
        method = user["payment_methods"].get(payment["payment_id"])
        if method is None:
            raise Refused(f"payment method {payment['payment_id']} not found")
        if method["source"] != "credit_card" and method["amount"] < payment["amount"]:
            raise Refused(f"not enough balance in payment method {payment['payment_id']}")
    paid = sum(payment["amount"] for payment in payment_methods)
    if paid != price:
        raise Refused(f"payment amount does not add up, total price is {price}, but paid {paid}")
    user = db.write("users", user_id)
    for payment in payment_methods:
        method = user["payment_methods"][payment["payment_id"]]
        if method["source"] == "gift_card":
            method["amount"] -= payment["amount"]
        elif method["source"] == "certificate":
            del user["payment_methods"][payment["payment_id"]]
    reservation = {
        "reservation_id": number,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": flights,
        "passengers": passengers,
        "payment_history": payment_methods,
        "created_at": CREATED,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
    }
    db.changed["reservations", number] = deepcopy(reservation)
    user["reservations"].append(number)
    return json.dumps(reservation)


def priced(db: Airline, flight: Record, cabin: str, n_passengers: int) -> Record:
    """Return a flight as a reservation holds it, if there is room."""
    number = flight["flight_number"]
    known = db.read("flights", number, f"flight {number} not found")
    day = known["dates"].get(flight["date"])
    if day is None:
        raise Refused(f"flight {number} not found on date {flight['date']}")
    if day["status"] != "available":
        raise Refused(f"flight {number} not available on date {flight['date']}")
    if day["available_seats"][cabin] < n_passengers:
        raise Refused(f"not enough seats on flight {number}")
    ends = {"origin": known["origin"], "destination": known["destination"]}
    return {**flight, "price": day["prices"][cabin], **ends}


def cancel(db: Airline, reservation_id: str) -> str:
    reservation = db.write("reservations", reservation_id, "reservation not found")
    paid = reservation["payment_history"]
    paid += [{"payment_id": p["payment_id"], "amount": -p["amount"]} for p in list(paid)]
    reservation["status"] = "cancelled"
    return json.dumps(reservation)


def change_flights(
    db: Airline, reservation_id: str, cabin: str, flights: list[Record], payment_id: str
) -> str:
    reservation = db.read("reservations", reservation_id, "reservation not found")
    n_passengers = len(reservation["passengers"])
    new = []
    for flight in flights:
        same = [
            held
            for held in reservation["flights"]
            if (held["flight_number"], held["date"]) == (flight["flight_number"], flight["date"])
            and cabin == reservation["cabin"]
        ]
        kept = {key: same[0][key] for key in ("price", "origin", "destination")} if same else None
        new.append({**flight, **kept} if kept else priced(db, flight, cabin, n_passengers))
    price = sum(flight["price"] for flight in new) * n_passengers
    price -= sum(flight["price"] for flight in reservation["flights"]) * n_passengers
    charge(db, reservation, payment_id, price)
    reservation = db.write("reservations", reservation_id)
    reservation["flights"] = new
    pay(reservation, payment_id, price)
    return json.dumps(reservation)


def change_baggages(
    db: Airline,
    reservation_id: str,
    total_baggages: int,
    nonfree_baggages: int,
    payment_id: str,
) -> str:
    reservation = db.read("reservations", reservation_id, "reservation not found")
    price = 50 * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    charge(db, reservation, payment_id, price)
    reservation = db.write("reservations", reservation_id)
    reservation["total_baggages"] = total_baggages
    reservation["nonfree_baggages"] = nonfree_baggages
    pay(reservation, payment_id, price)
    return json.dumps(reservation)


def charge(db: Airline, reservation: Record, payment_id: str, price: int) -> None:
    """Take a price from a method of payment, if that can be."""
    user = db.read("users", reservation["user_id"], "user not found")
    method = user["payment_methods"].get(payment_id)
    if method is None:
        raise Refused("payment method not found")
    if method["source"] == "certificate":
        raise Refused("certificate cannot be used to update reservation")
    if method["source"] == "gift_card":
        if method["amount"] < price:
            raise Refused("gift card balance is not enough")
        own = db.write("users", reservation["user_id"])
        own["payment_methods"][payment_id]["amount"] -= price


def pay(reservation: Record, payment_id: str, price: int) -> None:
    if price != 0:
        reservation["payment_history"].append({"payment_id": payment_id, "amount": price})


def change_passengers(db: Airline, reservation_id: str, passengers: list[Record]) -> str:
    reservation = db.write("reservations", reservation_id, "reservation not found")
    if len(passengers) != len(reservation["passengers"]):
        raise Refused("number of passengers does not match")
    reservation["passengers"] = passengers
    return json.dumps(reservation)


def send_certificate(db: Airline, user_id: str, amount: int) -> str:
    user = db.write("users", user_id, "user not found")
    numbers = (f"certificate_{number}" for number in (3221322, 3221323, 3221324))
    new = next(number for number in numbers if number not in user["payment_methods"])
    user["payment_methods"][new] = {"source": "certificate", "amount": amount, "id": new}
    return f"Certificate {new} added to user {user_id} with amount {amount}."


WRITES: Final[dict[str, Callable[..., str]]] = {
    "book_reservation": book,
    "cancel_reservation": cancel,
    "update_reservation_flights": change_flights,
    "update_reservation_baggages": change_baggages,
    "update_reservation_passengers": change_passengers,
    "send_certificate": send_certificate,
}
