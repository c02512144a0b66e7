import CloudKit
import CloudKitUI

/// A shopping list that people share, in the terminal.
@main
struct ShoppingDemo {
    static let usage = """
        usage: shopping-demo list | add ITEM… | tick ITEM | share [--in-terminal] | join

        list    prints the user's own list and those that others share with them
        add     adds items to the list: to the shared one if there is one, else to the user's own
        tick    ticks an item off
        share   shows the sharing panel of the user's own list: a page on a desktop, else text in the terminal
        join    joins lists whose links are opened with `welkin open`, until --for SECONDS are over (default: 2)
        All use the cloud and profile of the CLOUDKIT_ variables, or of cloudkit.json. script/demo shopping prepares that.

        Exit status: 0 success; 1 failure; 2 wrong usage.
        """

    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        if words.contains("--help") || words.contains("-h") { return print(usage) }
        let isInTerminal = words.contains("--in-terminal")
        words.removeAll { $0 == "--in-terminal" }
        var seconds = 2
        if let option = words.firstIndex(of: "--for"), option + 1 < words.count {
            seconds = Int(words[option + 1]) ?? seconds
            words.removeSubrange(option...option + 1)
        }
        let store = ShoppingStore(container: .default())
        do {
            switch (words.first, words.count) {
            case ("list", 1): try await printLists(store)
            case ("add", 2...): try await store.add(Array(words.dropFirst()))
            case ("tick", 2): try await store.tick(words[1])
            case ("share", 1): try await ShoppingSharing(store).present(isInTerminal: isInTerminal)
            case ("join", 1): await ShoppingMember(store).join(for: .seconds(seconds))
            default:
                fail("See shopping-demo --help.")
                exit(2)
            }
        } catch {
            fail(error.localizedDescription)
            exit(1)
        }
    }

    private static func printLists(_ store: ShoppingStore) async throws {
        for list in try await store.lists() {
            print("   \(list.title)\(list.isShared ? ", shared" : "")")
            for item in list.items { print("     \(item.isDone ? "[x]" : "[ ]") \(item.title)") }
        }
    }

    private static func fail(_ text: String) {
        FileHandle.standardError.write(Data("shopping-demo: \(text)\n".utf8))
    }
}
