import CloudKitAccounts
import Testing

@testable import welkin

/// Lists of people: CSV as spreadsheets write it, JSON Lines, and what is wrong with a line.
@Suite(.timeLimit(.minutes(2))) struct PeopleFileTests {
    /// The lines of a list as texts.
    private func lines(_ text: String) throws -> [String] {
        try PeopleFile(text).lines.map { line in
            let plan = line.person.plan
            return [
                String(line.number), line.person.email.normalised, plan.name ?? "-", plan.group?.name ?? "-",
                plan.quota?.text ?? "-",
            ].joined(separator: "|")
        }
    }

    private func problems(_ text: String) -> [String] {
        do {
            _ = try PeopleFile(text)
            return []
        } catch { return error.problems.map { "\($0.line): \($0.text)" } }
    }

    @Test func `CSV has a line of names, in any order, with quotes where needed`() throws {
        let text =
            "\u{FEFF}Name,email , quota,group\r\n\"Lovelace, Ada\",ADA@example.com,5000,staff\r\n\r\n"
            + "\"Ben \"\"B\"\" Bell\",ben@example.com,none,\n,eve@example.com,,\"7 b\"\n"
        #expect(
            try lines(text) == [
                "2|ada@example.com|Lovelace, Ada|staff|5000", "4|ben@example.com|Ben \"B\" Bell|-|none",
                "5|eve@example.com|-|7 b|-",
            ])
        #expect(try lines("email;group\na@example.com;x,y") == ["2|a@example.com|-|x,y|-"])
        #expect(try lines("email\na@example.com") == ["2|a@example.com|-|-|-"])
    }

    @Test func `JSON Lines have the same keys, and a quota may be a number`() throws {
        let text = """
            {"email":"ada@example.com","name":"Ada","group":"staff","quota":5000}

            {"email":"ben@example.com","quota":"default","name":null}
            """
        #expect(
            try lines(text) == ["1|ada@example.com|Ada|staff|5000", "3|ben@example.com|-|-|default"])
    }

    @Test func `every wrong line is named`() {
        #expect(
            problems(
                "email,group,quota\nada,x,1\nb@example.com,x\nc@example.com,x,lots\n,x,1\nc@example.com,,\nC@example.com,,"
            )
                == [
                    "2: \"ada\" is not an e-mail address", "3: columns: 2 in place of 3",
                    "4: \"lots\" is no quota; it is bytes, none or default", "5: the address is missing",
                    "7: c@example.com is in line 6 already",
                ])
        #expect(problems("ada@example.com\n").first?.hasPrefix("1: the first line does not name the columns") == true)
        #expect(problems("email,email\n").count == 1 && problems("email,phone\n").count == 1)
        #expect(problems("email,name\na@example.com,\"b\nc").contains("2: a quotation mark does not end"))
        #expect(problems("email,group\na@example.com,\(String(repeating: "g", count: 65))").count == 1)
        #expect(problems("email,name\na@example.com,\"a\nb\"").count == 1)
        #expect(
            problems("{\"email\":\"a@example.com\"}\n{\"email\":\nnull\n{\"mail\":\"b@example.com\"}\n{\"email\":[]}")
                .map { $0.prefix(2) } == ["2:", "3:", "4:", "5:"])
        #expect(problems("{\"phone\":\"1\"}").first?.contains("there is no key \"phone\"") == true)
        for text in ["", "\n \n", "email\n", "email,name\n"] {
            #expect(problems(text).count == 1, "\(text)")
        }
    }

    @Test func `a list has a bound`() throws {
        let many = "email\n" + (0...PeopleFile.peopleMax).map { "a\($0)@example.com\n" }.joined()
        #expect(problems(many) == ["10002: a list has at most 10000 people; split it"])
        let problems = PeopleFile.Problems(problems: (1...30).map { ($0, "wrong") })
        #expect(problems.description.contains("line 20: wrong") && problems.description.hasSuffix("and 10 more"))
    }

    @Test func `the link of an invitation names its cloud`() {
        let link = InvitationLink("https://cloud.example.com/invitation#abc")
        #expect(link.endpoint == "https://cloud.example.com" && link.code == "abc")
        #expect(InvitationLink(" abc\n") == InvitationLink("abc") && InvitationLink("abc").endpoint == nil)
        #expect(InvitationLink(endpoint: "http://[::1]:1", code: "abc").text == "http://[::1]:1/invitation#abc")
    }
}
