import Testing

@testable import contacts_demo

@Suite(.timeLimit(.minutes(20))) struct LayoutTests {
    private let layout = Layout(columns: 80)

    @Test func `a bar of progress stays on one line of 80 columns`() {
        for total in [1, 999, 1_000, 100_000] {
            for done in Set([0, total / 2, total]) {
                let line = layout.progress("saved", done: done, total: total, rate: "123,456/s")
                #expect(line.displayWidth < 80, "\(line)")
                #expect(line.contains("\(done.grouped)/\(total.grouped)"))
                #expect(line.contains(done == total ? "█" : "░"))
            }
        }
    }

    @Test func `a row that does not fit continues below its value`() {
        let short = layout.row("user", value: "the same on both", detail: "_8cc986e9")
        #expect(short.map { $0.text + $0.detail } == ["   user                      the same on both  _8cc986e9"])
        let lines = layout.row(
            "user", value: "the same on both", detail: "_8cc986e944c01e1fe30a49abbccc79d4 on the laptop and the phone")
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { ($0.text + $0.detail).displayWidth <= 80 })
        #expect(lines[1].detail.hasPrefix(String(repeating: " ", count: 29) + "_8cc9"))
        let words = layout.row("value", value: String(repeating: "word ", count: 30), detail: "detail")
        #expect(words.count == 4)
        #expect(words.allSatisfy { ($0.text + $0.detail).displayWidth <= 80 })
    }

    @Test func `a table is cut to the width, and becomes a list where its columns would be narrow`() {
        let wide = String(repeating: "x", count: 31)
        let cut = layout.table(["field", "here", "there", "type"], [["subject", wide, wide, "ENCRYPTED_STRING"]])
        #expect(cut.count == 2)
        #expect(cut[1].text.contains("…"))
        let list = layout.table(["field", "a", "b", "c", "d", "from"], [["note", wide, wide, wide, wide, "both"]])
        #expect(list.count == 6)
        #expect(list[0].text == "   field: note")
        #expect(list[5].text == "     from  both")
        #expect((cut + list).allSatisfy { $0.text.displayWidth <= 80 })
        let free = Layout(columns: .max).table(["a", "b"], [[wide, wide + wide + wide]])
        #expect(free[1].text.hasSuffix(wide + wide + wide))
    }
}
