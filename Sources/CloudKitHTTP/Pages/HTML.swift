/// Text put into pages.
enum HTML {
    /// For between tags and for values in double quotes.
    static func escape(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// A whole page.
    static func page(title: String, body: String, scripts: [String] = []) -> [UInt8] {
        let scripts = scripts.map { "<script src=\"\($0)\" defer></script>\n" }.joined()
        return Array(
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(escape(title))</title>
            <link rel="stylesheet" href="/style.css">
            \(scripts)</head>
            <body>
            \(body)
            </body>
            </html>

            """.utf8)
    }
}
